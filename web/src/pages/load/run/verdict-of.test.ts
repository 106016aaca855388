import assert from "node:assert/strict";
import { test } from "node:test";
import type { Objective } from "../../../api/gen/types.ts";
import { verdictOf } from "./verdict-of.ts";

type Run = Parameters<typeof verdictOf>[0];
type Summary = Parameters<typeof verdictOf>[1];

const run: Run = {
  status: "COMPLETED",
  stop_reason: "duration_elapsed",
  cancellation_reason: null,
  total_operations: 9,
};
function objective(state: Objective["state"]): Objective {
  return { of: "ALL", metric: "p95", limit: 1, state, value: 1, text: "" };
}
const sure = { reasons: [], warnings: [], generator_bound: false };
const met: Summary = { ...sure, verdict: "PASSED", slos: [objective("MET"), objective("MET")] };
const missed: Summary = {
  ...sure,
  verdict: "FAILED",
  slos: [objective("MET"), objective("MISSED")],
  reasons: [""],
};
const none: Summary = { ...sure, verdict: null, slos: [] };
const broken: Summary = {
  ...met,
  verdict: "FAILED",
  reasons: ["no operation succeeded: 9 failed, 0 unserved", "error rate"],
};

const cases: readonly (readonly [Partial<Run>, Summary, string, string])[] = [
  [{}, met, "pass", "Passed: All 2 objectives are met."],
  [{}, missed, "fail", "Failed: 1 of 2 objectives is missed."],
  [{}, none, "none", "No verdict: Its template has no objectives"],
  [{}, { ...met, generator_bound: true }, "doubtful", "Passed, with a reservation: All 2"],
  [
    {},
    { ...met, generator_bound: true, warnings: ["The load generator did not run for 3 s."] },
    "doubtful",
    "All 2 objectives are met. The load generator did not run for 3 s.",
  ],
  [{}, broken, "fail", "Failed: No operation succeeded: 9 failed, 0 unserved."],
  [{ total_operations: 0 }, none, "fail", "Nothing was measured: Not one operation"],
  [{ status: "FAILED", cancellation_reason: "no worker came" }, met, "fail", "no worker came"],
  [{ status: "FAILED", stop_reason: null }, met, "fail", "its log says more"],
  [
    { status: "CANCELLED", stop_reason: "user_requested" },
    met,
    "stopped",
    "Somebody stopped it. Figures",
  ],
  [{ status: "CANCELLED", total_operations: 0 }, none, "stopped", "Nothing had been measured"],
  [{ status: "PREPARED" }, none, "none", "Not started"],
  [{ status: "RUNNING" }, met, "none", "Under way"],
];
for (const [change, summary, kind, text] of cases) {
  test(`[WEB65] ${JSON.stringify(change)}, ${summary.verdict}: ${text}`, () => {
    const verdict = verdictOf({ ...run, ...change }, summary);
    assert.equal(verdict.kind, kind);
    assert.ok(`${verdict.title}: ${verdict.sentence}`.includes(text), verdict.sentence);
  });
}
