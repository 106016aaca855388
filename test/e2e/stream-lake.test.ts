/**
 * `capstan stream run` over the lake of a Capstan that runs meanwhile: its tables as sources and
 * sinks, beside statements and dynamic tables, and what is refused.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Cluster,
  makeDir,
  removeDir,
  rowsOf,
  runCli,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";
import { killStreams, StreamCommand } from "./stream-command.ts";

const folder = makeDir();
let cluster: Cluster;

before(async () => {
  cluster = await startCluster({
    workers: 1,
    args: ["--upkeep-every", "1s", "--keep-snapshots", "5s", "--delete-after", "1s"],
  });
  await cluster.waitForWorkers("ACTIVE", ["worker-1"]);
});
after(async () => {
  killStreams();
  await cluster.stop();
  await stopEverything();
  removeDir(folder);
});

const sql = (text: string) => rowsOf(cluster.url, text);

async function untilRows(query: string, wanted: readonly (readonly unknown[])[]): Promise<void> {
  let seen: unknown;
  await waitFor(
    query,
    async () => {
      seen = await sql(query).catch(String);
      return JSON.stringify(seen) === JSON.stringify(wanted) ? true : undefined;
    },
    60_000,
    () => `${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`,
  );
}

function stream(name: string, statements: string, ...args: readonly string[]): StreamCommand {
  writeFileSync(join(folder, `${name}.sql`), statements);
  return new StreamCommand(folder, ["run", `${name}.sql`, ...args]);
}

const perSecond = (source: string, sink: string): string => `
CREATE LOGICAL SOURCE ${source}(id INT64 NOT NULL, amount FLOAT64, at INT64 NOT NULL);
CREATE PHYSICAL SOURCE FOR ${source} TYPE Lake
  SET('${source}' AS "SOURCE".TABLE, TRUE AS "SOURCE".FOLLOW, '50 MS' AS "SOURCE".POLL_INTERVAL);
SELECT start, SUM(amount) AS amount, COUNT(*) AS n FROM ${source} WINDOW TUMBLING(at, SIZE 1 SEC)
INTO Lake('${sink}' AS "SINK".TABLE) SET('50 MS' AS "QUERY".CHECKPOINT_INTERVAL);
`;

test("[SU52] a stream follows a table of a running Capstan and feeds a dynamic table there", async () => {
  await sql("CREATE TABLE orders (id BIGINT NOT NULL, amount DOUBLE, at BIGINT NOT NULL)");
  await sql("INSERT INTO orders SELECT r, 1.5, r * 100 FROM range(25) AS x(r)");
  const args = ["--data-dir", cluster.dataDir, "--checkpoint", "state", "--parallelism", "2"];
  const running = stream("orders", perSecond("orders", "seconds"), ...args);
  await untilRows("SELECT start::BIGINT, n::BIGINT FROM seconds ORDER BY start", [
    [0, 10],
    [1_000, 10],
  ]);
  await sql(
    "CREATE DYNAMIC TABLE totals TARGET_LAG = '1 second' AS SELECT count(*) AS n, sum(amount) AS amount FROM seconds",
  );
  for (let second = 3; second < 12; second += 1) {
    await sql(
      `INSERT INTO orders SELECT ${second} * 10 + r, 1.5, ${second} * 1000 + r * 100 FROM range(10) AS x(r)`,
    );
  }
  await untilRows("SELECT n::BIGINT, amount FROM totals", [[11, 10 * 15 + 7.5]]);
  running.kill("SIGINT");
  const ended = await running.ended();
  assert.equal(ended.code, 130, ended.stderr);
  await sql("INSERT INTO orders VALUES (1000, 1.5, 100000)");
  const again = stream("orders", perSecond("orders", "seconds"), ...args);
  await untilRows("SELECT n::BIGINT, amount FROM totals", [[12, 11 * 15 + 7.5]]);
  again.kill("SIGINT");
  assert.equal((await again.ended()).code, 130, again.stderr);
  const checked = await runCli(["lake", "check", "--data-dir", cluster.dataDir]);
  assert.equal(checked.code, 0, checked.stdout);
});

test("[SY82] a dynamic table as a sink is refused with its place and what to do", async () => {
  for (const command of ["run", "check"]) {
    writeFileSync(join(folder, "refused.sql"), perSecond("orders", "totals"));
    const args = [command, "refused.sql", "--data-dir", cluster.dataDir];
    const { code, stderr } = await new StreamCommand(folder, args).ended();
    assert.equal(code, 1, stderr);
    assert.match(stderr, /totals is a dynamic table, so no sink writes to it \(line 6, column 6\)/);
    assert.match(stderr, /hint: {2}Only its refreshes write to it/);
  }
});

test("[SU55] checkpoints in the lake's directory are refused, since upkeep would delete them", async () => {
  const args = ["--data-dir", cluster.dataDir];
  const inside = join(cluster.dataDir, "lake", "main", "state");
  const refused = stream("inside", perSecond("orders", "inside"), ...args, "--checkpoint", inside);
  const ended = await refused.ended();
  assert.equal(ended.code, 1, ended.stderr);
  assert.match(ended.stderr, /checkpoints cannot be kept in .*deletes files that it does not know/);
  assert.ok(!(await sql("SHOW TABLES")).flat().includes("inside"));
});

test("[SU51] a lake that belongs to another store is refused before anything is written", async () => {
  const other = join(folder, "other");
  mkdirSync(other);
  assert.equal((await runCli(["setup", "--data-dir", other])).code, 0);
  const lake = join(cluster.dataDir, "lake");
  const ended = await stream(
    "foreign",
    `CREATE LOGICAL SOURCE numbers(v INT64);
CREATE PHYSICAL SOURCE FOR numbers TYPE Generator SET('SEQUENCE INT64 0 9 1' AS "SOURCE".GENERATOR_SCHEMA);
SELECT v FROM numbers INTO Lake('numbers' AS "SINK".TABLE);`,
    ...["--data-dir", other, "--lake", lake],
  ).ended();
  assert.equal(ended.code, 1, ended.stderr);
  assert.match(ended.stderr, /has tables or metrics, and this store has never seen them/);
  assert.deepEqual(await sql("SELECT count(*) FROM orders"), [[116]]);
});

test("[SU53] compaction, expiry and deletion beside a stream lose and double nothing", async () => {
  await sql("CREATE TABLE events (id BIGINT NOT NULL, at BIGINT NOT NULL)");
  const text = `
CREATE LOGICAL SOURCE events(id INT64 NOT NULL, at INT64 NOT NULL);
CREATE PHYSICAL SOURCE FOR events TYPE Lake
  SET('events' AS "SOURCE".TABLE, TRUE AS "SOURCE".FOLLOW, '20 MS' AS "SOURCE".POLL_INTERVAL);
SELECT id, at FROM events INTO Lake('copies' AS "SINK".TABLE)
SET('20 MS' AS "QUERY".CHECKPOINT_INTERVAL);
`;
  const start = (): StreamCommand =>
    stream("events", text, ...["--data-dir", cluster.dataDir, "--checkpoint", "events-state"]);
  const filesOf = (table: string): readonly string[] => {
    const directory = join(cluster.dataDir, "lake/main", table);
    return existsSync(directory) ? readdirSync(directory) : [];
  };
  const seen = { events: new Set<string>(), copies: new Set<string>() };
  let rows = 0;
  const insert = async (): Promise<void> => {
    await sql(`INSERT INTO events SELECT ${rows} + r, r FROM range(10) AS x(r)`);
    rows += 10;
    for (const table of ["events", "copies"] as const) {
      for (const file of filesOf(table)) seen[table].add(file);
    }
  };
  const untilCopied = (): Promise<void> =>
    untilRows("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM copies", [
      [rows, rows, 0, rows - 1],
    ]);
  /** Whether upkeep has deleted files of the table, which it does when others replaced them. */
  const isTidied = (table: "events" | "copies"): boolean =>
    filesOf(table).length < seen[table].size;

  for (let round = 0; round < 4; round += 1) {
    const running = start();
    await waitFor(
      "the sink's table",
      async () => (await sql("SHOW TABLES")).flat().includes("copies") || undefined,
    );
    for (let count = 0; count < 12; count += 1) await insert();
    // In one round it is killed while rows are on their way.
    if (round !== 1) await untilCopied();
    running.kill("SIGKILL");
    const ended = await running.ended();
    assert.equal(ended.code, null, ended.stderr);
    // What is added while nobody reads is read on from the pinned snapshot.
    for (let count = 0; count < 9; count += 1) await insert();
    await waitFor("deleted files", () => isTidied("events") || undefined);
  }
  const last = start();
  await untilCopied();
  await waitFor("deleted files of the sink", async () => {
    if (isTidied("copies")) return true;
    await insert();
    return undefined;
  });
  await untilCopied();
  last.kill("SIGINT");
  assert.equal((await last.ended()).code, 130, last.stderr);
  const checked = await runCli(["lake", "check", "--data-dir", cluster.dataDir]);
  assert.equal(checked.code, 0, checked.stdout);
});
