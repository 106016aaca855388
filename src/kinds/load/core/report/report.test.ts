import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "../../testing/run-report.ts";
import { Histogram } from "../histogram.ts";
import { formatHgrm } from "./format-hgrm.ts";
import { formatHtmlReport } from "./format-html-report.ts";
import { formatJunit } from "./format-junit.ts";
import type { RunReport } from "./run-report.ts";
import { summarizeRun } from "./summarize-run.ts";

const nasty = `<script>alert("x")</script> & 'q' \u0007`;

/** Text of people's and of databases', wherever a report shows one. */
function nastyReport(): RunReport {
  const report = reportOf();
  const { scenario, record } = report;
  const [look] = record.operations;
  assert.ok(look !== undefined);
  return reportOf({
    test_name: nasty,
    run_id: nasty,
    status: "FAILED",
    cancellation_reason: nasty,
    record: {
      ...record,
      warnings: [nasty],
      reasons: [nasty],
      allowances: [nasty],
      operations: [{ ...look, operation: nasty }],
      errors_by_kind: { [nasty]: 3 },
      error_examples: { [nasty]: nasty },
      verdict: "FAILED",
      slos: [{ of: nasty, metric: "p95", limit: 1, state: "MISSED", value: 2, text: nasty }],
    },
    scenario: {
      ...scenario,
      templateName: nasty,
      target: { ...scenario.target, tableName: nasty, loadSql: [nasty], resetSql: [nasty] },
      workload: {
        ...scenario.workload,
        operations: [
          {
            name: nasty,
            kind: "CUSTOM",
            weight: 1,
            statements: [nasty],
            transaction: true,
            parameters: {},
          },
        ],
      },
    },
    find_max: {
      result: {
        max_concurrency: 5,
        true_max: true,
        low: 5,
        high: 5,
        qps: 1,
        p95_latency_ms: 1,
        reason: nasty,
        steps: 1,
      },
      steps: [
        {
          step_number: 1,
          connections: 5,
          qps: 1,
          p95_latency_ms: 1,
          error_rate_pct: 0,
          outcome: "PLATEAU",
          reason: nasty,
        },
      ],
    },
  });
}

test("[RR1] the HTML report needs nothing from elsewhere, runs nothing, and escapes everything", () => {
  const page = formatHtmlReport(nastyReport());
  assert.doesNotMatch(page, /<script|\bon[a-z]+\s*=\s*"|src\s*=|href\s*=|url\(|@import|https?:/i);
  assert.match(page, /default-src 'none'/);
  assert.ok(page.split("&lt;script&gt;alert(&quot;x&quot;)").length > 12, "shown, escaped");
  assert.doesNotMatch(page, /NaN|undefined|Infinity|\[object/);
});

test("[RR2] the report has its charts and tables, and stays small however long the run was", () => {
  const page = formatHtmlReport(reportOf());
  const labels = [...page.matchAll(/aria-label="([^"]+)"/g)].map(([, label]) => label);
  assert.deepEqual(labels, [
    "Successful operations a second over time",
    "Latency over time",
    "How many took how long",
    "Latencies over time",
    "Errors a second over time",
  ]);
  for (const part of [
    "Objectives",
    "Configuration",
    "Statements",
    "warm-up",
    "deadlock",
    "✗ missed",
  ]) {
    assert.ok(page.includes(part), part);
  }
  const long = formatHtmlReport(reportOf({}, 3_000));
  assert.ok(long.length < 600_000, `${long.length} characters`);
  const open = { ...reportOf().scenario.workload, loadMode: "QPS", targetQps: 170 } as const;
  const scenario = { ...reportOf().scenario, workload: open };
  assert.match(formatHtmlReport(reportOf({ scenario })), /asked for.*waiting counts/s);
});

test("[RR2] a run that measured nothing has a report, too", () => {
  const none = new Histogram();
  const empty = reportOf({ status: "CANCELLED", started_at: null }, 0);
  const page = formatHtmlReport(empty);
  assert.doesNotMatch(page, /NaN|undefined|Infinity/);
  assert.match(page, /never started.*no operation succeeded: nothing was measured/s);
  assert.match(formatJunit(empty), /errors="1"/);
  assert.match(formatHgrm(none), /Total count {4}= {12}0/);
});

test("[RR3] JUnit has a case for the run and one for each objective", () => {
  const xml = formatJunit(reportOf());
  assert.match(
    xml,
    /<testsuite name="Checkout before the release" tests="5" failures="1" errors="0" time="60\.000"/,
  );
  assert.match(xml, /<testcase classname="load\.Checkout" name="run" time="60\.000"\/>/);
  assert.match(xml, /name="ALL: p95 &lt;= 20" time="0\.000"\/>/);
  assert.match(
    xml,
    /name="pay: p99 &lt;= 5" time="0\.000">\n {6}<failure message="p99 of pay is .* ms; at most 5 ms is allowed">/,
  );
  const failed = formatJunit(nastyReport());
  assert.match(failed, /<error message="the run is FAILED: &lt;script&gt;alert\(&quot;x&quot;\)/);
  assert.ok(!failed.includes("\u0007") && !failed.includes("<script"));
});

test("[RR3] [VE5] of a run that was stopped nothing has passed in JUnit: what would have is skipped", () => {
  const report = reportOf();
  const record = { ...report.record, verdict: null, resent_requests: 7 };
  const xml = formatJunit({ ...report, status: "CANCELLED", record });
  assert.match(xml, /tests="5" failures="1" errors="1" time="60\.000" skipped="3"/);
  assert.match(xml, /name="limits" time="0\.000">\n {6}<skipped message="the run is CANCELLED/);
  assert.match(xml, /<property name="verdict" value=""\/>/);
  assert.match(xml, /<property name="resent_requests" value="7"\/>/);
});

test("[RR4] the summary is JSON with every figure", () => {
  const summary = JSON.parse(JSON.stringify(summarizeRun(reportOf())));
  assert.equal(summary.verdict, "FAILED");
  assert.equal(summary.status, "COMPLETED");
  assert.equal(summary.operations.length, 2);
  assert.ok(summary.p50_latency_ms > 4 && summary.p50_latency_ms < summary.p99_latency_ms);
  assert.ok(Math.abs(summary.error_rate_pct - (18 / summary.total_operations) * 100) < 1e-9);
  assert.deepEqual([summary.unserved, summary.availability_pct], [0, 100]);
  assert.equal(summary.configuration.workload.concurrent_connections, 16);
  assert.deepEqual([summary.find_max, summary.find_max_steps], [null, []]);
  assert.equal(summarizeRun(nastyReport()).find_max_steps[0]?.outcome, "PLATEAU");
});

test("[RR5] the percentile distribution is as HdrHistogram prints it", () => {
  const histogram = new Histogram();
  for (let us = 1; us <= 100; us += 1) histogram.record(us * 100);
  const lines = formatHgrm(histogram).split("\n");
  assert.deepEqual(lines.slice(0, 3), [
    "       Value     Percentile TotalCount 1/(1-Percentile)",
    "",
    "       0.100 0.000000000000          1           1.00",
  ]);
  assert.ok(
    lines.includes("       5.008 0.500000000000         50           2.00"),
    lines.join("\n"),
  );
  const last = lines.findIndex((line) => line.startsWith("#"));
  assert.equal(lines[last - 1], "      10.000 1.000000000000        100");
  assert.match(lines[last] ?? "", /^#\[Mean {4}= {8}5\.050, StdDeviation {3}= {8}2\.88\d\]$/);
  assert.equal(lines[last + 1], "#[Max     =       10.000, Total count    =          100]");
  assert.match(lines[last + 3] ?? "", /^#\[Values are of a histogram, within 0\.4 %/);
  const counts = lines.slice(2, last).map((line) => Number(line.trim().split(/\s+/)[2]));
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  );
});
