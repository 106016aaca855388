/** On the real store, in virtual time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testRun } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { SharedUpdates } from "./shared-updates.ts";
import { RunWorld } from "./testing/run-world.ts";

test("[LV4] twenty who watch a run cost a reading a second, and each gets every log line once", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const { orchestrator } = coordinator;
  let reads = 0;
  const shared = new SharedUpdates((runId, after) => {
    reads += 1;
    return orchestrator.update(runId, after);
  }, world.clock);
  const runId = await world.start(coordinator, scenarioOf({ scaling: { workerCount: 2 } }));
  const viewers = Array.from({ length: 20 }, (_, nth) => ({
    fromSecond: nth < 15 ? 0 : nth,
    lines: [] as number[],
    phases: [] as string[],
  }));
  const seconds = 60;
  for (let second = 0; second < seconds; second += 1) {
    const watching = viewers.filter(({ fromSecond }) => fromSecond <= second);
    await Promise.all(
      watching.map(async ({ lines, phases }, nth) => {
        if (nth === 3 && second % 5 === 0) return; // It is slow, and misses some.
        const update = await shared.update(runId, lines.at(-1) ?? 0);
        lines.push(...(update?.logs.map(({ sequence }) => sequence) ?? []));
        phases.push(update?.phase ?? "");
      }),
    );
    await world.clock.advance(1_000);
  }
  const all = (await world.update(runId)).logs.map(({ sequence }) => sequence);
  assert.ok(all.length > 5);
  await Promise.all(
    viewers.map(async ({ lines, phases }) => {
      const update = await shared.update(runId, lines.at(-1) ?? 0);
      lines.push(...(update?.logs.map(({ sequence }) => sequence) ?? []));
      assert.deepEqual(lines, all);
      assert.ok(phases.includes("MEASUREMENT"));
    }),
  );
  // Who comes later, and who missed seconds, has read for itself at times.
  assert.ok(reads < seconds * 1.5, `${reads} readings in ${seconds} s`);
  assert.equal(await shared.update(testRun("nobody"), 0), undefined);
});
