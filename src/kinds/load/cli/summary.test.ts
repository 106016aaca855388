import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommandContext } from "../../../ground/command/context.ts";
import { Failure } from "../../../ground/command/failure.ts";
import { createPaint } from "../../../ground/command/output/terminal.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import type { FinalRecord } from "../core/final-record.ts";
import { summarizeRun } from "../core/report/summarize-run.ts";
import type { RunUpdate } from "../core/run-update.ts";
import { reportOf } from "../testing/run-report.ts";
import { asUsageUnlessToken } from "./as-usage.ts";
import { compareTests, listTests } from "./look.ts";
import { progressOf, runLoad } from "./run.ts";
import { printSummary } from "./summary.ts";

function printed(changes: Partial<FinalRecord>, status: "COMPLETED" | "CANCELLED" = "COMPLETED") {
  const report = reportOf({ status });
  const run = summarizeRun({ ...report, record: { ...report.record, ...changes } });
  let text = "";
  const terminal = { paint: createPaint(false), out: (piece: string) => (text += piece) };
  printSummary({ terminal } as unknown as CommandContext, run);
  return text;
}

test("[LC1] [FF1] operations are the record's total_operations; arrivals that went unserved have a line of their own", () => {
  const text = printed({
    total_operations: 275,
    failed_operations: 5,
    unserved: 99,
    unserved_pct: 26.47,
  });
  assert.match(text, /^Operations +275: 270 succeeded, 5 failed/m);
  assert.match(text, /^Unserved +99 arrivals \(26\.470 % of what was due\)/m);
  assert.doesNotMatch(text, /374/);
});

test("[LC1] [HT5] requests that were sent again are shown", () => {
  assert.match(printed({ resent_requests: 605 }), /^Sent again +605 requests/m);
  assert.doesNotMatch(printed({ resent_requests: 0 }), /Sent again/);
  const frozen = { generator_frozen_ms: 3_210, skipped_arrivals: 321 };
  assert.match(printed(frozen), /^Generator +did not run for 3.21 s; 321 arrivals were not sent/m);
  assert.doesNotMatch(printed({ generator_frozen_ms: 0 }), /did not run/);
});

test("[LC1] [VE5] a run that was cancelled has no verdict", () => {
  const text = printed({ verdict: null, reasons: [] }, "CANCELLED");
  assert.match(text, /^Verdict +none: the run did not reach its end/m);
  assert.doesNotMatch(text, /PASSED/);
});

test("[LC1] [LT1] a line of progress says of a least value that it is one", () => {
  const line = (at_least: readonly string[]): string =>
    progressOf({
      phase: "MEASUREMENT",
      timing: { phase_elapsed_seconds: 3, phase_duration_seconds: 10 },
      find_max: null,
      run: {
        aggregate_metrics: { qps: 5, p95_latency_ms: 12, total_errors: 0, unserved: 4, at_least },
      },
    } as unknown as RunUpdate);
  assert.match(line(["p95_latency_ms"]), /p95 >= 12\.00 ms/);
  assert.match(line([]), /p95 12\.00 ms/);
});

test("[LC1] the list says of a pass whose generator was saturated, or did not run, that it is one", async () => {
  let text = "";
  const terminal = { paint: createPaint(false), out: (piece: string) => (text += piece) };
  const row = {
    test_name: "n",
    status: "COMPLETED",
    qps: 1,
    p95_latency_ms: 1,
    total_operations: 1,
  };
  const items = [
    { ...row, test_id: "bound", verdict: "PASSED", generator_bound: true },
    { ...row, test_id: "plain", verdict: "PASSED", generator_bound: false },
  ];
  const client = { json: async () => ({ items }) };
  await listTests({ terminal, client } as unknown as CommandContext, undefined);
  assert.match(text, /bound .*PASSED, with a reservation about the load generator/);
  assert.match(text, /plain .*PASSED +1 /);
});

/** A coordinator that refuses with `code`, to whoever may operate, or may not. */
const refusing = (code: string, mayOperate: boolean) => ({
  json: async (path: string): Promise<never> => {
    const isProbe = path.endsWith("/stop");
    const told = isProbe && mayOperate ? "not_found" : code;
    throw new Failure(told, told, told === "forbidden" ? 4 : 1);
  },
});
const refusals = [
  { code: "bad_request", mayOperate: true, exitCode: 2 },
  { code: "not_found", mayOperate: true, exitCode: 2 },
  { code: "forbidden", mayOperate: true, exitCode: 2 },
  { code: "forbidden", mayOperate: false, exitCode: 4 },
  { code: "target_unreachable", mayOperate: true, exitCode: 1 },
];
for (const { code, mayOperate, exitCode } of refusals) {
  test(`[LC4] ${code} is exit status ${exitCode} for who may${mayOperate ? "" : " not"} operate`, async () => {
    const client = refusing(code, mayOperate);
    const asked = client.json("/api/runs").catch((thrown) => asUsageUnlessToken(client, thrown));
    await assert.rejects(asked, { code, exitCode });
  });
}

test("[LC4] a template that is not there, and a comparison of one run, are wrong usage", async () => {
  const terminal = { paint: createPaint(false), err: () => undefined, out: () => undefined };
  const none = { terminal, client: { json: async () => ({ items: [] }) } };
  const never = new AbortController().signal;
  const options = { allowHost: [], set: [] };
  const run = (context: unknown, name: string) =>
    runLoad(context as CommandContext, name, options, realClock, never);
  await assert.rejects(run(none, "no-such.yaml"), { exitCode: 2, message: /no file or template/ });
  await assert.rejects(run(none, "nobody"), { exitCode: 2 });
  const refused = { terminal, client: refusing("bad_request", true) };
  const compared = compareTests(refused as unknown as CommandContext, ["one"]);
  await assert.rejects(compared, { exitCode: 2 });
});
