/**
 * Writers, dynamic tables and the lake's upkeep at work on real processes, which are killed one
 * after the other at moments that a seed decides; then everything is compared with what has to be
 * there.
 *
 * Longer, and at other moments: `CAPSTAN_TEST_KILLS=200 CAPSTAN_TEST_SEED=7 node --test
 * test/e2e/refresh-kill*.test.ts`.
 */
import assert from "node:assert/strict";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { countDifferences, createDerived, derivedNames } from "./derived-tables.ts";
import { type Cluster, isAlive, rowsOf, runCli, startCluster, waitFor } from "./harness.ts";
import { eventsSql, ModelledWriter } from "./modelled-writer.ts";
import { readStore } from "./read-store.ts";

export interface KillLoopOptions {
  /** The default number of kills; the environment may change it. */
  readonly kills: number;
  /** A Postgres URL. */
  readonly store?: string;
}

const seed = process.env.CAPSTAN_TEST_SEED ?? "1";
const victims = ["coordinator", "worker-1", "worker-2"] as const;
const workers = ["worker-1", "worker-2"];
const writerCount = 3;
/** Each is acknowledged at least once, if necessary after the last kill. */
const verbs = ["INSERT", "UPDATE", "DELETE", "COPY"];
/** How long recovery may take on a busy machine. */
const calmMsMax = 150_000;
/**
 * Compaction and expiry within seconds; a file stays for as long as a query may take on a busy
 * machine.
 */
const upkeep = ["--upkeep-every", "1s", "--keep-snapshots", "20s", "--delete-after", "30s"];

/** Returns a summary in words. */
export async function runKillLoop(options: KillLoopOptions): Promise<string> {
  const { store } = options;
  const kills = Number(process.env.CAPSTAN_TEST_KILLS ?? options.kills);
  const cluster = await startCluster({
    workers: workers.length,
    args: upkeep,
    ...(store === undefined ? {} : { store }),
  });
  try {
    await cluster.waitForWorkers("ACTIVE", workers);
    await rowsOf(cluster.url, eventsSql);
    await createDerived(cluster.url);
    const writers = Array.from(
      { length: writerCount },
      (_, owner) => new ModelledWriter(owner, () => cluster.url, seed),
    );
    await underKills(cluster, writers, kills);
    await cluster.waitForWorkers("ACTIVE", workers, calmMsMax);
    await compareEverything(cluster, writers, store);
    const unclear = writers.reduce((sum, writer) => sum + writer.unclear, 0);
    return `${kills} kills; ${doneBy(writers)} statements acknowledged, ${unclear} unclear`;
  } catch (thrown) {
    throw new Error(`seed ${seed}: ${String(thrown)}`, { cause: thrown });
  } finally {
    await cluster.stop();
  }
}

async function underKills(
  cluster: Cluster,
  writers: readonly ModelledWriter[],
  kills: number,
): Promise<void> {
  const stop = new AbortController();
  const working = Promise.all([
    ...writers.map((writer) => writer.run(stop.signal)),
    watchDiamond(cluster, stop.signal),
  ]);
  // A writer that found an error ends the killing.
  const failed = working.then(() => undefined);
  const prng = createPrng(`${seed}-kills`);
  const killed = new Set<number>();
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      // Every third time another process is killed at the same moment.
      if (kill % 3 !== 2) {
        await Promise.race([untilNextKill(cluster, writers, kill, prng), failed]);
      }
      await Promise.race([killOne(cluster, prng, killed), failed]);
    }
    const isDone = (): true | undefined =>
      verbs.every((verb) => doneBy(writers, verb) > 0) ? true : undefined;
    await Promise.race([waitFor("a statement of every kind", isDone, calmMsMax), failed]);
  } finally {
    stop.abort();
  }
  await working;
}

/**
 * Mostly while something starts or is under way, sometimes when all is well again. By what was done
 * meanwhile rather than by time, so that a busy machine does not spend all of it on starting
 * processes.
 */
async function untilNextKill(
  cluster: Cluster,
  writers: readonly ModelledWriter[],
  kill: number,
  prng: Prng,
): Promise<void> {
  if (kill % 8 === 7) await cluster.waitForWorkers("ACTIVE", workers, calmMsMax);
  const wanted = doneBy(writers) + prng.below(5);
  const untilMs = performance.now() + stuckMs;
  await waitFor("statements", () =>
    doneBy(writers) >= wanted || performance.now() > untilMs ? true : undefined,
  );
  const waitMs = prng.below(400);
  await new Promise((resolve) => setTimeout(resolve, waitMs));
}

/** After this time without progress the next kill follows. */
const stuckMs = 30_000;

/** The number of acknowledged statements. */
function doneBy(writers: readonly ModelledWriter[], wanted?: string): number {
  return writers
    .flatMap(({ acknowledged }) => [...acknowledged])
    .filter(([verb]) => wanted === undefined || verb === wanted)
    .reduce((sum, [, count]) => sum + count, 0);
}

/** Kills one running process; those that wait for their next start are left alone. */
async function killOne(cluster: Cluster, prng: Prng, killed: Set<number>): Promise<void> {
  await waitFor("a process to kill", () => {
    const running = victims.filter((name) => {
      const pid = pidOf(cluster, name);
      return isAlive(pid) && !killed.has(pid);
    });
    const victim = running[prng.below(running.length)];
    if (victim === undefined) return undefined;
    try {
      const pid = pidOf(cluster, victim);
      process.kill(pid, "SIGKILL");
      killed.add(pid);
      return true;
    } catch {
      return undefined; // It ended this very moment.
    }
  });
}

function pidOf(cluster: Cluster, name: string): number {
  return cluster.pid(name);
}

/** Both sides of the diamond always show one snapshot. */
async function watchDiamond({ url }: Cluster, signal: AbortSignal): Promise<void> {
  const sql = "SELECT * FROM diamond WHERE left_n IS DISTINCT FROM right_n";
  while (!signal.aborted) {
    const rows = await rowsOf(url, sql).catch(() => []);
    assert.deepEqual(rows, [], "the diamond is consistent");
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function compareEverything(
  cluster: Cluster,
  writers: readonly ModelledWriter[],
  store: string | undefined,
): Promise<void> {
  for (const writer of writers) await writer.check();
  for (const name of derivedNames) {
    const look = async (): Promise<true | undefined> =>
      (await countDifferences(cluster, name)) === 0 ? true : undefined;
    await waitFor(`${name} to be what its definition says`, look, calmMsMax).catch(
      async (thrown: unknown) => {
        const history = await rowsOf(cluster.url, `SHOW REFRESH HISTORY ${name} LIMIT 10`);
        throw new Error(`${String(thrown)}${JSON.stringify(history, null, 1)}`);
      },
    );
  }
  const shown = await rowsOf(cluster.url, "SHOW DYNAMIC TABLES");
  assert.deepEqual(
    shown.filter(([, status]) => !String(status).startsWith("ACTIVE")),
    [],
  );
  await checkPublications(cluster, store);
  await checkFiles(cluster, store);
}

interface Publication {
  readonly dynamic_table: string;
  readonly token: number;
  readonly source_snapshot: number;
  readonly snapshot: number;
}

/**
 * Each target was published once, under one token, by one commit of the lake; and was the
 * definition's as of that target.
 */
async function checkPublications(cluster: Cluster, url: string | undefined): Promise<void> {
  const { history, commits } = await readStore(cluster, url, async ({ db }) => ({
    history: await db.selectFrom("refresh_history").selectAll().execute(),
    commits: await db
      .selectFrom("ducklake_snapshot_changes")
      .select(["snapshot_id", "commit_message"])
      .execute(),
  }));
  const published = history.filter(
    (row): row is typeof row & Publication =>
      row.state === "SUCCEEDED" && row.action !== "NO_DATA" && row.snapshot !== null,
  );
  assertUnique(published.map((row) => `${row.dynamic_table} target ${row.source_snapshot}`));
  assertUnique(published.map((row) => `token ${row.token}`));
  const actions = new Set(published.map(({ action }) => action));
  assert.deepEqual(actions, new Set(["FULL", "INCREMENTAL"]));
  // A refresh of nothing to nothing makes no snapshot, and names the one that was there.
  const known = Map.groupBy(published, (row) => row.snapshot);
  const refreshes = commits.flatMap(({ snapshot_id, commit_message }) => {
    const [, name] = /refresh of (.+)$/.exec(commit_message ?? "") ?? [];
    return name === undefined ? [] : [[snapshot_id, name] as const];
  });
  for (const [snapshot, name] of refreshes) {
    const own = (known.get(snapshot) ?? []).filter((row) => row.dynamic_table === name);
    assert.equal(own.length, 1, `snapshot ${snapshot} is a refresh of ${name} of the history`);
  }
  await checkPast(cluster, published, new Set(commits.map(({ snapshot_id }) => snapshot_id)));
}

/** As many of each table as are quickly compared; older snapshots have expired. */
const pastMax = 4;

async function checkPast(
  cluster: Cluster,
  published: readonly Publication[],
  there: ReadonlySet<number>,
): Promise<void> {
  for (const name of derivedNames) {
    const own = published
      .filter((row) => row.dynamic_table === name)
      .filter((row) => there.has(row.snapshot) && there.has(row.source_snapshot))
      .slice(-pastMax);
    for (const { snapshot, source_snapshot: sourceSnapshot } of own) {
      // It may expire while we look.
      const count = await countDifferences(cluster, name, { snapshot, sourceSnapshot }).catch(
        (thrown: unknown) => {
          assert.match(String(thrown), /not_found/);
          return 0;
        },
      );
      assert.equal(count, 0, `${name} at ${snapshot} is its definition as of ${sourceSnapshot}`);
    }
  }
}

function assertUnique(texts: readonly string[]): void {
  const twice = texts.filter((text, at) => texts.indexOf(text) !== at);
  assert.deepEqual(twice, [], "published once");
}

/**
 * The catalog and every file agree. Files of processes that died are nobody's, until upkeep has
 * them.
 */
async function checkFiles(cluster: Cluster, store: string | undefined): Promise<void> {
  const done = await runCli([
    ...["lake", "check", "--json", "--data-dir", cluster.dataDir],
    ...(store === undefined ? [] : ["--store", store]),
  ]);
  assert.equal(done.stderr, "");
  const report = JSON.parse(done.stdout);
  assert.deepEqual([done.code, report.findings], [0, []]);
  assert.ok(report.files > 0);
}
