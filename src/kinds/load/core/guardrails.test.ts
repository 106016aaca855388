import assert from "node:assert/strict";
import { test } from "node:test";
import { scenarioOf } from "../testing/scenario.ts";
import { decideGuardrails, type GuardrailFacts, noGuardrailState } from "./guardrails.ts";

const quiet: GuardrailFacts = {
  nowMs: 0,
  cpuPercent: null,
  memoryPercent: null,
  errorRatePct: null,
  p99LatencyMs: null,
  missedSlos: [],
};
const { guardrails } = scenarioOf({ guardrails: { maxCpuPercent: 85, maxErrorRatePct: 1 } });

test("[GR1] [GR2] load is taken back after the grace, and the run fails after another", () => {
  let state = noGuardrailState;
  const at = (seconds: number, cpuPercent: number): string => {
    const next = decideGuardrails(guardrails, state, {
      ...quiet,
      nowMs: seconds * 1000,
      cpuPercent,
    });
    state = JSON.parse(JSON.stringify(next.state)) as typeof state;
    return next.decision.kind;
  };
  assert.deepEqual(
    [at(0, 99), at(9, 99), at(9.5, 50), at(10, 99), at(19.9, 99)],
    Array(5).fill("none"),
  );
  assert.equal(at(20, 99), "backOff");
  assert.deepEqual([at(21, 99), at(30, 99)], ["none", "none"]);
  assert.equal(at(31, 99), "fail");
});

test("[GR2] a limit that holds again leaves the load where it is", () => {
  const since = { exceededSinceMs: { cpu: 0 }, backedOffAtMs: undefined };
  const backed = decideGuardrails(guardrails, since, { ...quiet, nowMs: 10_000, cpuPercent: 99 });
  assert.deepEqual(backed.decision, {
    kind: "backOff",
    share: 0.75,
    detail: "CPU of a worker 99.0 % is above 85 %",
  });
  const calm = decideGuardrails(guardrails, backed.state, {
    ...quiet,
    nowMs: 99_000,
    cpuPercent: 50,
  });
  assert.equal(calm.decision.kind, "none");
});

test("[GR3] what was not measured exceeds nothing", () => {
  assert.deepEqual(decideGuardrails(guardrails, noGuardrailState, quiet).state, noGuardrailState);
});

test("[GR4] a missed objective aborts only where it is asked to", () => {
  const facts = { ...quiet, nowMs: 60_000, missedSlos: ["p95 of ALL 12 ms is above 10 ms"] };
  const since = { exceededSinceMs: { slo: 0 }, backedOffAtMs: undefined };
  assert.equal(decideGuardrails(guardrails, since, facts).decision.kind, "none");
  const strict = { ...guardrails, abortOnSlo: true };
  assert.deepEqual(decideGuardrails(strict, since, facts).decision, {
    kind: "fail",
    detail: "p95 of ALL 12 ms is above 10 ms",
  });
});
