import assert from "node:assert/strict";
import { test } from "node:test";
import { generatorBoundReason } from "./generator-health.ts";
import type { GeneratorHealth } from "./worker-snapshot.ts";

const well: GeneratorHealth = {
  event_loop_delay_ms_p99: 2,
  schedule_lag_ms_p99: 0.2,
  cpu_percent: 60,
  memory_percent: 1,
  rss_bytes: 1,
  waiting: 1_000,
  dropped: 0,
  unsent: 0,
};

const cases: readonly [name: string, change: Partial<GeneratorHealth>, reason: RegExp | null][] = [
  ["a queue at the target is the target's", {}, null],
  ["late though a connection was free", { schedule_lag_ms_p99: 5.1 }, /began 5.1 ms late/],
  ["answers lay about", { event_loop_delay_ms_p99: 25 }, /25 ms late to take answers/],
  ["no time left", { cpu_percent: 97 }, /97 % busy/],
];
for (const [name, change, reason] of cases) {
  test(`[LW15] ${name}`, () => {
    const said = generatorBoundReason({ ...well, ...change });
    if (reason === null) assert.equal(said, null);
    else assert.match(said ?? "", reason);
  });
}
