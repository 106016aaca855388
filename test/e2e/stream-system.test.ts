/**
 * What the cluster does, as sources of queries on real workers: the examples of the blueprint run
 * as they are written, but for their sinks.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Cluster,
  getJson,
  type Rows,
  rowsOf,
  runCli,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ workers: 2 });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
  await streams(`
    CREATE LOGICAL SOURCE bids(ts UINT64, auction UINT64);
    CREATE PHYSICAL SOURCE FOR bids TYPE Generator SET(
      'SEQUENCE UINT64 0 10000000 1, SEQUENCE UINT64 0 100000000 7' AS "SOURCE".GENERATOR_SCHEMA,
      'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 1000 AS "SOURCE".ROWS_PER_SECOND,
      'worker-2' AS "SOURCE"."HOST");
    CREATE SINK nowhere TYPE Void SET('worker-2' AS "SINK"."HOST");
    CREATE QUERY load AS SELECT ts, auction FROM bids INTO nowhere;`);
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

async function streams(input: string): Promise<string> {
  const env = { CAPSTAN_URL: cluster.url };
  const { code, stdout, stderr } = await runCli(["sql", "-f", "-"], { env, input });
  assert.equal(code, 0, stderr);
  return stdout;
}

const lakeSink = (name: string): string =>
  `CREATE SINK ${name} TYPE Lake SET('${name}' AS "SINK".TABLE);`;
const often = `SET('1 SEC' AS "QUERY".CHECKPOINT_INTERVAL)`;

/** The rows of a table once there are some that `isWanted` takes. */
async function rowsWhere(text: string, isWanted: (rows: Rows) => boolean): Promise<Rows> {
  let seen: unknown;
  return await waitFor(
    text,
    async () => {
      const rows = await rowsOf(cluster.url, text).catch((thrown: unknown) => String(thrown));
      seen = rows;
      return typeof rows !== "string" && isWanted(rows) ? rows : undefined;
    },
    90_000,
    () => JSON.stringify(seen),
  );
}

async function untilRunning(name: string): Promise<void> {
  let seen: unknown;
  await waitFor(
    `${name} to run`,
    async () => {
      seen = await getJson<{ readonly state: string }>(
        `${cluster.url}/api/v1/streams/queries/${name}`,
      ).catch(String);
      return (seen as { readonly state?: string }).state === "RUNNING" || undefined;
    },
    60_000,
    () => JSON.stringify(seen),
  );
}

test("[SD80] the blueprint's throughput of the cluster counts what all workers process", async () => {
  await streams(`${lakeSink("dashboard_sink")}
    CREATE QUERY throughput AS
    SELECT start, end, SUM(recordsProcessed) AS totalThroughput
    FROM worker_statistics
    WINDOW TUMBLING(size = 5s)
    INTO dashboard_sink ${often};`);
  // 1,000 rows a second, for five seconds; a busy machine makes windows of fewer reports.
  const rows = await rowsWhere(
    `SELECT totalThroughput::BIGINT, "end"::BIGINT - start::BIGINT FROM dashboard_sink
     WHERE totalThroughput > 1000`,
    (found) => found.length > 0,
  );
  assert.ok(rows.every(([, size]) => Number(size) === 5_000));
});

test("[SD80] statistics come from each worker, and say who did the work", async () => {
  await streams(`${lakeSink("who")}
    CREATE QUERY who AS SELECT worker_id, timestamp, records_read, fragments
    FROM system.worker_statistics INTO who ${often};`);
  const rows = await rowsWhere(
    "SELECT worker_id, max(records_read)::BIGINT FROM who GROUP BY worker_id ORDER BY worker_id",
    (found) => found.length === 2 && Number(found[1]?.[1]) > 100,
  );
  assert.deepEqual(
    rows.map(([worker]) => worker),
    ["worker-1", "worker-2"],
  );
  // On worker-1 nothing reads but the sources of this very kind of query.
  assert.ok(Number(rows[0]?.[1]) < 100, JSON.stringify(rows));
});

test("[SD80] the blueprint's detection of overload runs, and sees each worker", async () => {
  const overload = (sink: string, limit: string): string => `${lakeSink(sink)}
    CREATE QUERY ${sink}_query AS
    SELECT workerId, AVG(cpuUsage) AS avgCpu
    FROM worker_resources
    WINDOW SLIDING(size = 1 MINUTE, advance = 10 SECONDS)
    GROUP BY workerId
    HAVING avgCpu > ${limit}
    INTO ${sink} ${often};`;
  await streams(overload("optimizer_trigger_sink", "90.0"));
  await streams(overload("every_worker", "0.0 - 1.0"));
  await untilRunning("optimizer_trigger_sink_query");
  const rows = await rowsWhere(
    "SELECT workerId, min(avgCpu), max(avgCpu) FROM every_worker GROUP BY workerId ORDER BY workerId",
    (found) => found.length === 2,
  );
  for (const [, least, most] of rows) assert.ok(Number(least) >= 0 && Number(most) <= 100);
});

/** The statements of docs/stream.md that read a stream of the system. */
function documented(source: string): string {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "stream.md"), "utf8");
  const found = [...page.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].find(([, text]) =>
    text?.includes(`FROM ${source}`),
  );
  return (found?.[1] ?? assert.fail(`an example over ${source}`)).replaceAll(
    / INTO (\w+);/g,
    ` INTO $1 ${often};`,
  );
}

test("[SD82, SD83, SD84] the documented watch over heartbeats and failures goes on with the next coordinator", async () => {
  await streams(documented("system.heartbeats"));
  await streams(documented("system.query_events"));
  await streams(`${lakeSink("gaps")} ${lakeSink("events")}
    CREATE QUERY gaps AS SELECT start, worker_id, COUNT(*) AS n FROM system.heartbeats
      GROUP BY worker_id WINDOW TUMBLING(timestamp, SIZE 2 SEC) INTO gaps ${often};
    CREATE QUERY events AS SELECT revision, query_name, from_state, to_state FROM system.query_events
      INTO events ${often};`);
  for (const name of ["late_workers", "failures", "gaps", "events"]) await untilRunning(name);
  const perWorker = "SELECT worker_id, count(*) FROM gaps GROUP BY worker_id ORDER BY worker_id";
  const before = await rowsWhere(perWorker, (found) => found.length === 2);
  await streams(`CREATE SINK nobody TYPE Void;
    CREATE QUERY early AS SELECT ts FROM bids INTO nobody;`);
  await untilRunning("early");
  const early =
    "SELECT from_state, to_state FROM events WHERE query_name = 'early' ORDER BY revision";
  const steps = [
    [null, "PENDING"],
    ["PENDING", "DEPLOYING"],
    ["DEPLOYING", "RUNNING"],
  ];
  await rowsWhere(early, (found) => JSON.stringify(found) === JSON.stringify(steps));
  cluster.kill("coordinator", "SIGKILL");
  await rowsWhere(perWorker, (found) => Number(found[0]?.[1]) > Number(before[0]?.[1]) + 2);
  await streams("DROP QUERY early;");
  await rowsWhere(early, (found) => {
    const states = JSON.stringify(found);
    return states.endsWith('["STOPPED",null]]');
  });
  const twice = "SELECT revision FROM events GROUP BY revision HAVING count(*) > 1";
  assert.deepEqual(await rowsOf(cluster.url, twice), []);
});
