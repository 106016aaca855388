import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunUpdate, SloConfig } from "../../../api/gen/types.ts";
import { formatSlo, sloStatuses } from "./slo-status.ts";

const operation = (name: string, p95: number) => ({
  operation: name,
  query_kind: "POINT_LOOKUP",
  ops: 100,
  errors: 1,
  p50_latency_ms: 1,
  p95_latency_ms: p95,
  p99_latency_ms: 30,
  at_least: name === "least" ? ["p95_latency_ms"] : [],
});
const breakdown = {
  a: operation("a", 10),
  b: operation("b", 20),
  least: { ...operation("least", 20), query_kind: "CUSTOM" },
};
const update = {
  run: {
    figures_phase: "MEASUREMENT",
    aggregate_metrics: {
      total_ops: 200,
      total_errors: 2,
      p95_latency_ms: 12,
      max_latency_ms: 90,
      at_least: ["max_latency_ms"],
    },
  },
  timing: { phase_elapsed_seconds: 4 },
  custom_metrics: { app_ops_breakdown: breakdown },
} as unknown as RunUpdate;

const slo = (of: string, metric: SloConfig["metric"], limit: number): SloConfig => ({
  of,
  metric,
  limit,
});

const cases = [
  { name: "of everything", slo: slo("ALL", "p95", 12), want: ["met", 12] },
  { name: "a limit that is passed", slo: slo("ALL", "p95", 11), want: ["missed", 12] },
  { name: "a least value within it", slo: slo("ALL", "max", 100), want: ["open", 90] },
  { name: "a least value beyond it", slo: slo("ALL", "max", 80), want: ["missed", 90] },
  { name: "an operation's least value", slo: slo("least", "p95", 99), want: ["open", 20] },
  { name: "of one operation", slo: slo("b", "p95", 15), want: ["missed", 20] },
  { name: "of a kind, all within", slo: slo("POINT_LOOKUP", "p95", 25), want: ["met", undefined] },
  { name: "of a kind, none", slo: slo("POINT_LOOKUP", "p95", 5), want: ["missed", undefined] },
  { name: "of a kind, between", slo: slo("POINT_LOOKUP", "p95", 15), want: ["open", undefined] },
  { name: "errors", slo: slo("ALL", "error_rate_pct", 1), want: ["met", 1] },
  { name: "a rate", slo: slo("ALL", "qps_min", 51), want: ["missed", 49.5] },
  { name: "not sent", slo: slo("a", "p999", 5), want: ["open", undefined] },
  { name: "not measured", slo: slo("c", "p95", 5), want: ["open", undefined] },
];
for (const each of cases) {
  test(`[WEB52] only what is certain is called met or missed: ${each.name}`, () => {
    const [found] = sloStatuses([each.slo], update);
    assert.deepEqual([found?.state, found?.value], each.want);
    assert.equal(found?.isLeast, each.name.includes("least"));
  });
}

test("[WEB52] in warm-up nothing is judged; objectives are read as they are meant", () => {
  const warming = { ...update, run: { ...update.run, figures_phase: "WARMUP" as const } };
  assert.equal(sloStatuses([slo("ALL", "p95", 1)], warming)[0]?.state, "open");
  assert.equal(formatSlo(slo("ALL", "p95", 20)), "p95 ≤ 20 ms");
  assert.equal(formatSlo(slo("pay", "error_rate_pct", 1)), "pay errors ≤ 1 %");
  assert.equal(formatSlo(slo("ALL", "qps_min", 100)), "rate ≥ 100/s");
});
