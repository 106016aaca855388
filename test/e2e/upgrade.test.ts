/**
 * A data directory that an earlier version wrote opens, is migrated, and gives the answers that it
 * gave. The fixture has schema 7: tables with deletes and updates, one of them rewritten by upkeep,
 * dynamic tables, a load run, imported segments and an unsealed log.
 */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import {
  type Cluster,
  getJson,
  makeDir,
  removeDir,
  rowsOf,
  runCli,
  startCluster,
  stopEverything,
} from "./harness.ts";

interface Fixture {
  readonly directories: readonly string[];
  /** Contents in base64, by their paths. */
  readonly files: Readonly<Record<string, string>>;
}

interface Vector {
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

const fixtureFile = join(import.meta.dirname, "../fixtures/data-directory-7.json.gz");
const dataDir = makeDir();
let cluster: Cluster;

before(async () => {
  const fixture = JSON.parse(gunzipSync(readFileSync(fixtureFile)).toString("utf8")) as Fixture;
  for (const path of fixture.directories) mkdirSync(join(dataDir, path), { recursive: true });
  for (const [path, text] of Object.entries(fixture.files)) {
    mkdirSync(dirname(join(dataDir, path)), { recursive: true });
    writeFileSync(join(dataDir, path), Buffer.from(text, "base64"), { mode: 0o600 });
  }
  // Its samples are of 2026-11-16, and stay however late this runs.
  cluster = await startCluster({ dataDir, args: ["--keep-metrics", "10000d"] });
});

after(async () => {
  await stopEverything();
  removeDir(dataDir);
});

test("[ST57] tables of an earlier version give their answers after the migration", async () => {
  const rows = (text: string): Promise<unknown> => rowsOf(cluster.url, text);
  assert.deepEqual(await rows("SELECT count(*), sum(amount), sum(id)::BIGINT FROM orders"), [
    [1406, 66080.5, 1482627],
  ]);
  assert.deepEqual(await rows("SELECT count(*), count_if(note = 'changed')::BIGINT FROM events"), [
    [300, 10],
  ]);
  assert.deepEqual(await rows("SELECT sum(n)::BIGINT, count(*) FROM per_customer"), [[1406, 7]]);
  assert.deepEqual(await rows("SELECT count(*) FROM query_executions"), [[13426]]);
});

test("[ST57] metrics of an earlier version give their answers: sealed segments and the log", async () => {
  const ask = async (query: string, time: number): Promise<string | undefined> => {
    const parameters = new URLSearchParams({ query, time: String(time) });
    const answer = await getJson<Vector>(`${cluster.url}/api/v1/query?${parameters}`);
    return answer.data.result[0]?.value[1];
  };
  assert.equal(await ask("sum(rate(fixture_total[1h]))", 1794807000), "0.4");
  assert.equal(await ask("sum(count_over_time(up[10m]))", 1794882930), "112");
});

test("[ST57] what an earlier version wrote can be written to, and its runs are listed", async () => {
  await rowsOf(cluster.url, "INSERT INTO orders VALUES (5000, 1, 2.5)");
  assert.deepEqual(await rowsOf(cluster.url, "SELECT count(*) FROM orders"), [[1407]]);
  const { code, stdout, stderr } = await runCli(["load", "list", "--url", cluster.url, "--json"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /aqmtpsdav0fvyxx7wwoc/);
});

test("[ST57] the lake of an earlier version is sound after the migration", async () => {
  const { code, stdout, stderr } = await runCli(["lake", "check", "--data-dir", dataDir]);
  assert.equal(code, 0, `${stdout}${stderr}`);
});
