/**
 * Previews on real workers: at the prompt, over HTTP, and gone with whoever looked, whichever
 * process is killed.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type Cluster,
  getJson,
  http,
  rowsOf,
  runCli,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ workers: 2 });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
  const input = `
    CREATE LOGICAL SOURCE bids(ts UINT64, auction UINT64);
    CREATE PHYSICAL SOURCE FOR bids TYPE Generator SET(
      'SEQUENCE UINT64 0 10000000 1, SEQUENCE UINT64 0 100000000 7' AS "SOURCE".GENERATOR_SCHEMA,
      'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 1000 AS "SOURCE".ROWS_PER_SECOND);
    CREATE LOGICAL SOURCE few(v UINT64);
    CREATE PHYSICAL SOURCE FOR few TYPE Generator SET('SEQUENCE UINT64 0 5 1' AS "SOURCE".GENERATOR_SCHEMA);`;
  const created = await runCli(["sql", "-f", "-"], { env: env(), input });
  assert.equal(created.code, 0, created.stderr);
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

const env = (): Record<string, string> => ({ CAPSTAN_URL: cluster.url });

interface Page<T> {
  readonly items: readonly T[];
}

/** Nothing of any preview is left: no query, and no slot that is taken. */
async function untilGone(): Promise<void> {
  await waitFor("the previews and their slots to be gone", async () => {
    const at = `${cluster.url}/api/v1/streams`;
    const queries = await getJson<Page<unknown>>(`${at}/queries`).catch(() => undefined);
    const workers = await getJson<Page<{ readonly slots_used: number }>>(`${at}/workers`).catch(
      () => undefined,
    );
    const isFree = workers?.items.every(({ slots_used }) => slots_used === 0);
    return (queries?.items.length === 0 && isFree) || undefined;
  });
}

async function untilShown(): Promise<void> {
  await waitFor("a preview to run", async () => {
    const page = await getJson<Page<{ readonly state: string }>>(
      `${cluster.url}/api/v1/streams/queries`,
    ).catch(() => undefined);
    return page?.items.some(({ state }) => state === "RUNNING") || undefined;
  });
}

const endless = `PREVIEW SELECT auction % UINT64(10) AS a, COUNT(*) AS n FROM bids
  GROUP BY (a) WINDOW TUMBLING(ts, SIZE 500 MS) LIMIT 100000 SET(2 AS "QUERY".PARALLELISM)`;

test("a preview shows its rows at the prompt, and leaves nothing behind", async () => {
  const shown = await runCli(["sql", "-c", "PREVIEW SELECT ts, auction FROM bids LIMIT 3"], {
    env: env(),
  });
  assert.equal(shown.stdout, "ts  auction\n 0        0\n 1        7\n 2       14\n");
  assert.match(shown.stderr, /3 rows in .*; that is the limit/);
  const few = await runCli(["sql", "--json", "-c", "PREVIEW SELECT v FROM few"], { env: env() });
  const lines = few.stdout.trim().split("\n");
  assert.deepEqual(lines.slice(1, -1), ["[0]", "[1]", "[2]", "[3]", "[4]"]);
  assert.match(lines.at(-1) ?? "", /"row_count":5,.*"left_out":0,"ended":"ended"/);
  await untilGone();
});

test("rows of an exchange over two workers come as events, and a client that leaves ends it", async () => {
  const client = new AbortController();
  const response = await http(`${cluster.url}/api/v1/streams/preview`, {
    method: "POST",
    body: { statement: endless },
    signal: client.signal,
  });
  let text = "";
  const decoder = new TextDecoder();
  assert.ok(response.body !== null);
  for await (const chunk of response.body) {
    text += decoder.decode(chunk as Uint8Array);
    if (text.includes("event: rows")) break;
  }
  assert.match(
    text,
    /event: columns\ndata: {"query_id":"\d+","columns":\[{"name":"a","type":"UINT64"}/,
  );
  client.abort();
  await untilGone();
});

test("a prompt that is killed takes its preview with it", async () => {
  const prompt = startProcess(["sql", "-c", endless], env());
  await untilShown();
  const drop = await runCli(["sql", "-c", "DROP LOGICAL SOURCE few; DROP PHYSICAL SOURCE 2"], {
    env: env(),
  });
  assert.match(drop.stderr, /used by/);
  prompt.kill("SIGKILL");
  await prompt.exited;
  await untilGone();
});

test("a worker that is killed ends the preview with the reason", async () => {
  const prompt = startProcess(["sql", "-c", endless], env());
  await untilShown();
  cluster.kill("worker-2", "SIGKILL");
  await prompt.exited;
  assert.match(prompt.output, /error: .*worker/);
  await cluster.waitForWorkers("ACTIVE", ["worker-2"]);
  await untilGone();
});

test("a coordinator that is killed leaves no preview to the next one", async () => {
  const prompt = startProcess(["sql", "-c", endless], env());
  await untilShown();
  cluster.kill("coordinator", "SIGKILL");
  const { code } = await prompt.exited;
  assert.equal(code, 3);
  assert.match(prompt.output, /error: the answer broke off before its end/);
  await waitFor("the next coordinator", async () => {
    const rows = await rowsOf(cluster.url, "SELECT 1").catch(() => undefined);
    return rows?.length === 1 || undefined;
  });
  await untilGone();
});
