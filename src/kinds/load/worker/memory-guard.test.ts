import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { MemoryGuard } from "./memory-guard.ts";

const mebibyte = 1024 ** 2;
/**
 * In a process that may take 100 MiB: what it takes from the first look on, and what became of it
 * when.
 */
const cases = [
  { name: "enough", takes: [100], told: [], endedMs: undefined },
  {
    name: "a little too much, and it does not end",
    takes: [90, 101, 50],
    told: [100],
    endedMs: 2_100,
  },
  { name: "half as much again", takes: [90, 120, 151], told: [100], endedMs: 150 },
  { name: "far too much at once", takes: [90, 400], told: [100], endedMs: 100 },
  { name: "nobody knows", takes: [undefined, 400], told: [], endedMs: undefined },
];
for (const { name, takes, told, endedMs } of cases) {
  test(`[MG1] a load worker with a database in it keeps its limit: ${name}`, async () => {
    const clock = new VirtualClock();
    const seen = { told: [] as number[], ended: undefined as number | undefined };
    let looks = 0;
    const guard = new MemoryGuard({
      bytesMax: 100 * mebibyte,
      privateBytes: () => {
        const mib = takes[Math.min(looks, takes.length - 1)];
        looks += 1;
        return mib === undefined ? undefined : mib * mebibyte;
      },
      exceeded: (message) => {
        assert.match(message, /statement_too_large.*100 MiB.*--load-memory-limit/);
        seen.told.push(clock.nowMs());
      },
      end: () => {
        seen.ended ??= clock.nowMs();
      },
      clock,
    });
    guard.start();
    guard.start();
    await clock.advance(3_000);
    guard.close();
    assert.deepEqual(seen, { told, ended: endedMs });
  });
}
