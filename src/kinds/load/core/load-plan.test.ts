import assert from "node:assert/strict";
import { test } from "node:test";
import { scenarioOf } from "../testing/scenario.ts";
import { allowedLoad, decideTargetChange, peakConnections, plannedLoad } from "./load-plan.ts";
import { beginScaling, decideScaling, type ScalingFacts } from "./qps-scaling.ts";

const noStep = { stepId: null, stepNumber: null };

test("[PN1] stages begin with measurement and end on time, whenever they are announced", () => {
  const staged = scenarioOf({
    workload: {
      rampSeconds: 3,
      stages: [
        { durationSeconds: 10, target: 40 },
        { durationSeconds: 20, target: 5 },
      ],
    },
  });
  const at = (ms: number | undefined) => {
    const { connections, rampSeconds, fromMs } = plannedLoad(staged, ms);
    return [connections, rampSeconds, fromMs];
  };
  assert.deepEqual(at(undefined), [10, 3, undefined]);
  assert.deepEqual(at(-1), [10, 3, undefined]);
  assert.deepEqual(at(0), [40, 10, 0]);
  assert.deepEqual(at(9_000), [40, 10, 0]);
  assert.deepEqual(at(10_000), [5, 20, 10_000]);
  assert.deepEqual(at(99_000), [5, 20, 10_000]);
  assert.equal(peakConnections(staged), 40);
  const qps = scenarioOf({
    workload: {
      loadMode: "QPS",
      targetQps: 100,
      stages: [{ durationSeconds: 10, target: 250 }],
    },
  });
  assert.deepEqual(plannedLoad(qps, 2_500), {
    connections: 10,
    qps: 250,
    rampSeconds: 10,
    fromMs: 0,
    reason: "stage_1",
  });
});

test("[PN2] [PN3] only those are told whose target changes; who left is nobody's share", () => {
  const load = plannedLoad(scenarioOf(), undefined);
  const first = decideTargetChange({}, ["worker-0", "worker-1", "worker-2"], load, noStep);
  assert.deepEqual(first?.changed, ["worker-0", "worker-1", "worker-2"]);
  const targets = first?.targets ?? {};
  assert.equal(
    decideTargetChange(targets, ["worker-0", "worker-1", "worker-2"], load, noStep),
    undefined,
  );
  const left = decideTargetChange(targets, ["worker-0", "worker-2"], load, noStep);
  assert.deepEqual(
    Object.entries(left?.targets ?? {}).map(([id, target]) => [id, target.connections]),
    [
      ["worker-0", 5],
      ["worker-2", 5],
    ],
  );
  assert.equal(decideTargetChange(targets, [], load, noStep), undefined);
  const fixed = scenarioOf({ scaling: { mode: "FIXED", minWorkers: 2, minConnections: 3 } });
  assert.equal(allowedLoad(fixed, load).connections, 6);
});

const facts = (changes: Partial<ScalingFacts>): ScalingFacts => ({
  nowMs: 0,
  ops: 0,
  waiting: 5,
  targetQps: 100,
  isRamping: false,
  ...changes,
});

test("[QS1] [QS2] [QS3] short intervals grow, until growing brings nothing; FIXED does not grow", () => {
  const auto = scenarioOf();
  const begun = beginScaling(10, facts({}));
  assert.deepEqual(decideScaling(auto, begun, facts({ nowMs: 4_999 })).state, begun);
  for (const calm of [{ ops: 475 }, { waiting: 0 }, { isRamping: true }]) {
    const { decision } = decideScaling(auto, begun, facts({ nowMs: 5_000, ...calm }));
    assert.equal(decision.kind, "none");
  }
  const grown = decideScaling(auto, begun, facts({ nowMs: 5_000, ops: 250 }));
  assert.deepEqual(grown.decision, { kind: "grow", connections: 20 });
  const more = decideScaling(auto, grown.state, facts({ nowMs: 10_000, ops: 650 }));
  assert.deepEqual(more.decision, { kind: "grow", connections: 25 });
  const useless = decideScaling(auto, more.state, facts({ nowMs: 15_000, ops: 1_050 }));
  assert.deepEqual(useless.decision, { kind: "exhausted", connections: 25 });
  const after = decideScaling(auto, useless.state, facts({ nowMs: 20_000, ops: 1_450 }));
  assert.equal(after.decision.kind, "none");
  const fixed = scenarioOf({ scaling: { mode: "FIXED" } });
  assert.equal(decideScaling(fixed, begun, facts({ nowMs: 5_000 })).decision.kind, "none");
});

test("[QS4] BOUNDED at its ceiling is over after three short intervals in a row", () => {
  const bounded = scenarioOf({ scaling: { mode: "BOUNDED", maxWorkers: 2, maxConnections: 6 } });
  let state = beginScaling(10, facts({}));
  const kinds = [];
  for (let nth = 1; nth <= 6; nth += 1) {
    const isCalm = nth === 3;
    const ops = isCalm ? 600 : state.opsBefore + 250;
    const next = decideScaling(
      bounded,
      state,
      facts({ nowMs: nth * 5_000, ops, waiting: isCalm ? 0 : 9 }),
    );
    state = next.state;
    kinds.push(next.decision.kind);
  }
  assert.deepEqual(kinds, ["grow", "none", "none", "none", "none", "limit"]);
  assert.equal(state.connections, 12);
});
