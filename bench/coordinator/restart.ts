/**
 * A coordinator is killed and started again while many queries run, and then it is stopped and
 * another one takes over: until every query is reconciled. The reconcilers take the queries that
 * they find in turn, and what is new behind them: so that is when a query runs which is created as
 * soon as somebody takes it. No fragment may have been deployed again, which the rows of all
 * fragments say (epoch, worker, state, and the time of its last change). A query that was DEPLOYING
 * meanwhile, because nobody could ask its worker, has another time in its own row.
 */
import assert from "node:assert/strict";
import { startProcess, waitFor } from "../../test/e2e/harness.ts";
import type { BenchOptions, Report } from "../report.ts";
import { createMany, defineMany, namesOf, smallQuery, waitUntilRunning } from "./many-queries.ts";
import { StreamsCluster } from "./streams-cluster.ts";

const restarts = 3;
/** The second one: it was created by a request whose answer took too long. */
const accepted: ReadonlySet<number> = new Set([202, 409]);
const reconciledSecondsMax = 10;

export async function benchRestart({ queries }: BenchOptions, report: Report): Promise<void> {
  const world = await StreamsCluster.start();
  try {
    await defineMany(world);
    await createMany(world, namesOf(queries));
    await waitUntilRunning(world, queries);
    for (let turn = 1; turn <= restarts; turn += 1) {
      const kill = () => world.cluster.kill("coordinator", "SIGKILL");
      await reportReconciled(`restart_${turn}`, world, report, () => world.url, kill);
    }
    await takeOver(world, report);
  } finally {
    await world.stop();
  }
}

/** The leader is stopped and not killed: it would be started again, and take its own lease back. */
async function takeOver(world: StreamsCluster, report: Report): Promise<void> {
  const { dataDir } = world.cluster;
  const standby = startProcess([
    ...["coordinator", "--name", "second", "--port", "0"],
    ...["--data-dir", dataDir, "--log-format", "json"],
  ]);
  const url = await standby.url();
  const pid = world.cluster.pid("coordinator");
  try {
    const stop = () => void process.kill(pid, "SIGSTOP");
    await reportReconciled("takeover", world, report, () => `${url}/api/v1/streams`, stop);
  } finally {
    process.kill(pid, "SIGCONT");
    await standby.stop();
  }
}

async function reportReconciled(
  name: string,
  world: StreamsCluster,
  report: Report,
  urlOf: () => string,
  lose: () => void,
): Promise<void> {
  const before = rowsOf(world);
  const beganMs = performance.now();
  const since = () => (performance.now() - beganMs) / 1_000;
  lose();
  await waitFor("somebody who creates a query", async () =>
    accepted.has(await create(urlOf, name)) ? true : undefined,
  );
  const takenSeconds = since();
  await waitFor("the new query to run", async () =>
    (await stateOf(urlOf, name)) === "RUNNING" ? true : undefined,
  );
  const seconds = { value: since(), atMost: reconciledSecondsMax };
  const again = changedOf(before, rowsOf(world));
  report.figure(
    `${name}_to_reconciled`,
    { seconds, fragments_deployed_again: { value: again.fragments, atMost: 0 } },
    {
      ...{ queries: before.queries.size, fragments: before.fragments.size },
      queries_not_running_meanwhile: again.queries,
      request_taken_after_seconds: takenSeconds,
    },
  );
  await fetch(`${urlOf()}/queries/${name}`, { method: "DELETE" });
  await waitFor("it to be gone", async () =>
    (await stateOf(urlOf, name)) === undefined ? true : undefined,
  );
}

/** The status; 0 without an answer. */
async function create(urlOf: () => string, name: string): Promise<number> {
  try {
    const response = await fetch(`${urlOf()}/queries`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name, statement: smallQuery(0) }),
      signal: AbortSignal.timeout(10_000),
    });
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

/** `undefined`: there is no such query. */
async function stateOf(urlOf: () => string, name: string): Promise<string | undefined> {
  const response = await fetch(`${urlOf()}/queries/${name}`);
  if (response.status === 404) return undefined;
  return ((await response.json()) as { state: string }).state;
}

interface Rows {
  readonly queries: ReadonlyMap<string, string>;
  readonly fragments: ReadonlyMap<string, string>;
}

function rowsOf(world: StreamsCluster): Rows {
  const read = (select: string) =>
    new Map(world.readStore(select).map((row) => [String(row.id), JSON.stringify(row)]));
  const rows = {
    queries: read("SELECT query_id AS id, epoch, state, state_changed_at_ms FROM queries"),
    fragments: read(`
      SELECT fragment_id AS id, worker_id, epoch, state, state_changed_at_ms FROM query_fragments`),
  };
  assert(rows.fragments.size > 0, "queries run");
  return rows;
}

/** How many of those that were there before are not as they were. */
function changedOf(before: Rows, now: Rows): { queries: number; fragments: number } {
  const count = (kind: keyof Rows) =>
    [...before[kind]].filter(([id, row]) => now[kind].get(id) !== row).length;
  return { queries: count("queries"), fragments: count("fragments") };
}
