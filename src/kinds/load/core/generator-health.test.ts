import assert from "node:assert/strict";
import { test } from "node:test";
import { generatorBoundReason } from "./generator-health.ts";
import type { GeneratorHealth } from "./worker-snapshot.ts";

const well: GeneratorHealth = {
  event_loop_delay_ms_p99: 2,
  event_loop_delay_ms_mean: 0.2,
  schedule_lag_ms_p99: 0.5,
  schedule_lag_ms_p95: 0.2,
  latency_ms_p50: 20,
  latency_ms_p95: 50,
  cpu_percent: 60,
  memory_percent: 1,
  rss_bytes: 1,
  waiting: 1_000,
  dropped: 0,
  unsent: 0,
};

const cases: readonly [name: string, change: Partial<GeneratorHealth>, reason: RegExp | null][] = [
  ["a queue at the target is the target's", {}, null],
  ["late though a connection was free", { schedule_lag_ms_p95: 12.6 }, /began 12.6 ms late/],
  ["late, and the target takes much longer", { schedule_lag_ms_p95: 12 }, null],
  ["late once in a hundred", { schedule_lag_ms_p99: 40, event_loop_delay_ms_p99: 40 }, null],
  ["answers lay about", { event_loop_delay_ms_mean: 5.5 }, /5.5 ms late on average to take/],
  ["timers are good to a millisecond", { event_loop_delay_ms_mean: 0.9, latency_ms_p50: 1 }, null],
  ["a quick target", { schedule_lag_ms_p95: 0.4, latency_ms_p95: 1 }, /latency was 1 ms/],
  ["nothing was answered: no figure", { schedule_lag_ms_p95: 50, latency_ms_p95: null }, null],
  ["no time left", { cpu_percent: 97 }, /97 % busy/],
];
for (const [name, change, reason] of cases) {
  test(`[LW15] lateness against what is measured: ${name}`, () => {
    const said = generatorBoundReason({ ...well, ...change });
    if (reason === null) assert.equal(said, null);
    else assert.match(said ?? "", reason);
  });
}
