import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { QueueTarget } from "../testing/queue-target.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { calibrateCapacity } from "./calibrate.ts";

const { signal } = new AbortController();

/** Each operation that was sent has cost `cpuMs` of the thread. */
async function calibrate(
  scenario: ReturnType<typeof scenarioOf>,
  { serviceMs, cpuMs }: { readonly serviceMs: number; readonly cpuMs: number },
) {
  const clock = new VirtualClock();
  let sent = 0;
  const target = new (class extends QueueTarget {
    override admit(atMs: number): number {
      sent += 1;
      return super.admit(atMs);
    }
  })({ clock, servers: 100, serviceMs });
  const parts = { target, clock, threadCpuMs: () => sent * cpuMs, signal };
  const found = calibrateCapacity(scenario, parts);
  await clock.advance(2_000);
  return { capacity: await found, sent };
}

test("[WT5] connections that a worker drives follow from what an operation costs and takes", async () => {
  const http = scenarioOf({ target: { kind: "http", url: "http://localhost/" } });
  const { capacity = 0, sent } = await calibrate(http, { serviceMs: 10, cpuMs: 0.1 });
  assert.ok(sent >= 4 * 28 && sent <= 4 * 32, `${sent}`);
  assert.ok(Math.abs(capacity - 70) <= 4, `${capacity}`);
  assert.equal((await calibrate(http, { serviceMs: 10, cpuMs: 5 })).capacity, 8);
});

test("[WT5] what writes is never tried, and a target that does not answer leaves the usual", async () => {
  const [operation] = scenarioOf().workload.operations;
  assert.ok(operation !== undefined);
  const writing = scenarioOf({ workload: { operations: [{ ...operation, kind: "UPDATE" }] } });
  assert.deepEqual(await calibrate(writing, { serviceMs: 10, cpuMs: 1 }), {
    capacity: undefined,
    sent: 0,
  });
  const slow = await calibrate(scenarioOf(), { serviceMs: 1_000, cpuMs: 1 });
  assert.equal(slow.capacity, undefined);
});
