/**
 * A pipeline of a join and a keyed window over two workers, with a Lake sink, while coordinator and
 * workers are killed by SIGKILL in each phase of a checkpoint and of a deployment: in the end the
 * table has what plain DuckDB makes of the same input.
 *
 * Every phase with every victim, and more at any moment: `CAPSTAN_TEST_KILLS=25 CAPSTAN_TEST_SEED=7
 * npm test -- test/e2e/stream-kill.test.ts`.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { startCluster, stopEverything } from "./harness.ts";
import { PhaseKiller, type PhaseName, phases, type Victim } from "./stream-phases.ts";
import { StreamPipeline } from "./stream-pipeline.ts";

/** A number: not in a phase, but so many milliseconds after the kill before. */
type Kill = readonly [phase: PhaseName | number, victim: Victim];

const kills = Number(process.env.CAPSTAN_TEST_KILLS ?? 0);
const seed = process.env.CAPSTAN_TEST_SEED ?? "1";
const prng = createPrng(`${seed}/stream-kill`);
const names = Object.keys(phases) as readonly PhaseName[];

/** The phases in which most could go wrong, where time is short. */
const shortly: readonly Kill[] = [
  ["acknowledging", "worker-2"],
  ["acknowledged", "coordinator"],
  ["recorded", "worker-1"],
  ["registering", "coordinator"],
  ["registered", "worker-1"],
  ["starting", "worker-2"],
];

function allKills(): readonly Kill[] {
  const one = (): Victim => (prng.below(2) === 0 ? "worker-1" : "worker-2");
  const each = names.flatMap((name): Kill[] => [
    [name, "coordinator"],
    [name, one()],
  ]);
  const more = Array.from({ length: Math.max(0, kills - each.length) }, (): Kill => {
    return [prng.below(3_000), prng.below(3) === 0 ? "coordinator" : one()];
  });
  return shuffled([...each, ...more]).slice(0, kills);
}

function shuffled<T>(list: T[]): readonly T[] {
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = prng.below(at + 1);
    [list[at], list[other]] = [list[other] as T, list[at] as T];
  }
  return list;
}

after(stopEverything);

test("[SD50, SD51] a pipeline whose processes are killed in every phase has each result once", async (t) => {
  const cluster = await startCluster({ workers: 2, args: ["--log-level", "debug"] });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
  const pipeline = new StreamPipeline(cluster, "kept");
  await pipeline.create();
  const { deployed } = await pipeline.until("RUNNING");
  assert.equal(new Set(deployed.map(({ worker_id }) => worker_id)).size, 2);
  const killer = new PhaseKiller(cluster, pipeline);
  const beganMs = performance.now();
  try {
    const plan = kills === 0 ? shortly : allKills();
    for (const [phase, victim] of plan) {
      if (typeof phase === "number") await killer.killAnywhere(victim, phase);
      else await killer.kill(phase, victim);
    }
    const results = await pipeline.check();
    assert.ok(results > 50, `${results} results`);
    const seconds = Math.round((performance.now() - beganMs) / 1_000);
    t.diagnostic(`seed ${seed}: ${plan.length} kills, ${results} results, ${seconds} s`);
  } catch (thrown) {
    throw new Error(`seed ${seed}: ${String(thrown)}`, { cause: thrown });
  } finally {
    killer.close();
    await cluster.stop();
  }
});
