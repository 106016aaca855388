import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { scenarioOf } from "../testing/scenario.ts";
import type { ScalingConfig, Scenario } from "./scenario.ts";
import {
  capacityBy,
  decideShape,
  decideTargets,
  initialTarget,
  shareOut,
  wantsCalibration,
} from "./worker-targets.ts";

const shape = (scaling: Partial<ScalingConfig>, connections: number) =>
  decideShape(scenarioOf({ scaling }), connections);

test("[WT1] targets are whole, differ by one at most, and sum to the run's", () => {
  fc.assert(
    fc.property(fc.nat({ max: 10_000 }), fc.integer({ min: 1, max: 50 }), (total, count) => {
      const shares = shareOut(total, count);
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        total,
      );
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
    }),
  );
  const targets = decideTargets(
    ["a", "b"],
    { connections: 5, qps: 100 },
    { stepId: null, stepNumber: null },
  );
  assert.deepEqual(targets.a, {
    connections: 3,
    qps: 50,
    stepId: null,
    stepNumber: null,
  });
});

test("[WT2] the modes", () => {
  const capped = (workers: number, connections: number, isCapped = false) => ({
    workers,
    connections,
    isCapped,
  });
  assert.deepEqual(shape({}, 100), capped(2, 100));
  assert.deepEqual(shape({ perWorkerCapacity: 25 }, 100), capped(4, 100));
  assert.deepEqual(shape({ workerCount: 5 }, 100), capped(5, 100));
  assert.deepEqual(
    shape({ mode: "FIXED", minWorkers: 3, minConnections: 7, maxWorkers: 9 }, 100),
    capped(3, 21),
  );
  const bounded = { mode: "BOUNDED", maxWorkers: 2, maxConnections: 10 } as const;
  assert.deepEqual(shape(bounded, 100), capped(2, 20, true));
  assert.deepEqual(shape(bounded, 15), capped(2, 15));
  assert.deepEqual(shape({ ...bounded, minWorkers: 2 }, 5), capped(2, 5));
});

test("[WT5] without a capacity the kind of target says how many connections a worker has", () => {
  const workers = (kind: Scenario["target"]["kind"], scaling: Partial<ScalingConfig> = {}) =>
    decideShape(scenarioOf({ target: { kind }, scaling }), 128).workers;
  const kinds = ["postgres", "mysql", "http", "snowflake", "sqlite", "duckdb"] as const;
  assert.deepEqual(
    kinds.map((kind) => workers(kind)),
    [2, 4, 4, 4, 8, 1],
  );
  assert.equal(workers("sqlite", { perWorkerCapacity: 128 }), 1);
  const bounded = { mode: "BOUNDED", maxConnections: 32 } as const;
  assert.equal(workers("postgres", bounded), 4);
});

test("[WT3] rather fewer workers than too few connections each", () => {
  assert.deepEqual(shape({ workerCount: 8, minConnections: 4 }, 10), {
    workers: 2,
    connections: 10,
    isCapped: false,
  });
});

test("[WT1] without a word from the orchestrator, groups take shares that sum to the run's", () => {
  const sums = (scenario: Parameters<typeof initialTarget>[0]) => {
    const groups = [0, 1, 2].map((groupId) => initialTarget(scenario, { groupId, groupCount: 3 }));
    return {
      connections: groups.reduce((sum, each) => sum + each.connections, 0),
      qps: groups.reduce((sum, each) => sum + (each.qps ?? 0), 0),
    };
  };
  const closed = scenarioOf({ workload: { concurrentConnections: 10 } });
  assert.deepEqual(sums(closed), { connections: 10, qps: 0 });
  const open = { loadMode: "QPS", targetQps: 300, concurrentConnections: 7 } as const;
  assert.deepEqual(sums(scenarioOf({ workload: open })), { connections: 7, qps: 300 });
  const search = { loadMode: "FIND_MAX_CONCURRENCY" } as const;
  const found = sums(scenarioOf({ workload: search, findMax: { startConcurrency: 5 } }));
  assert.deepEqual(found, { connections: 5, qps: 0 });
});

test("[WT5] a calibration: as many connections as keep 0.7 of a thread busy, near what is usual", () => {
  assert.equal(capacityBy("http", { cpuMs: 0.1, latencyMs: 10 }), 70);
  assert.equal(capacityBy("http", { cpuMs: 1, latencyMs: 1 }), 8);
  assert.equal(capacityBy("http", { cpuMs: 0.001, latencyMs: 500 }), 128);
  assert.equal(capacityBy("postgres", { cpuMs: 0, latencyMs: 5 }), 256);
  const of = (changes: Parameters<typeof scenarioOf>[0], connections = 100): boolean =>
    wantsCalibration(scenarioOf(changes), connections);
  assert.equal(of({}), true);
  assert.equal(of({}, 16), false);
  assert.equal(of({ workload: { loadMode: "QPS", targetQps: 5 } }, 16), true);
  assert.equal(of({ scaling: { perWorkerCapacity: 25 } }), false);
  assert.equal(of({ scaling: { workerCount: 2 } }), false);
  assert.equal(of({ scaling: { mode: "FIXED" } }), false);
  assert.equal(of({ target: { kind: "duckdb" } }), false);
});
