/** A run's report, simulated: warm-up, a stall, a few errors. */
import { createPrng } from "../../kernel/prng.ts";
import { figuresFor } from "../core/figures.ts";
import { Histogram, mergeHistograms } from "../core/histogram.ts";
import type { ReportSecond, RunReport } from "../core/report/run-report.ts";
import type { SloConfig } from "../core/scenario.ts";
import { evaluateSlos } from "../core/slo.ts";
import { scenarioOf } from "./scenario.ts";

const slos: readonly SloConfig[] = [
  { of: "ALL", metric: "p95", limit: 20 },
  { of: "ALL", metric: "error_rate_pct", limit: 1 },
  { of: "pay", metric: "p99", limit: 5 },
];

export function reportOf(changes: Partial<RunReport> = {}, length = 70): RunReport {
  const prng = createPrng("report");
  const gauss = (): number =>
    Math.sqrt(-2 * Math.log(1 - prng.next())) * Math.cos(2 * Math.PI * prng.next());
  const seconds = Array.from({ length }, (_, at): ReportSecond => {
    const response = new Histogram();
    const isStall = at >= 40 && at < 43;
    const ops = Math.round(
      (at < 10 ? 60 + at * 12 : 180) * (1 + 0.05 * gauss()) * (isStall ? 0.4 : 1),
    );
    for (let each = 0; each < ops; each += 1) {
      const slow = isStall && prng.next() < 0.3 ? 40 : 1;
      response.record(6_000 * Math.exp(0.4 * gauss()) * slow * (prng.next() < 0.1 ? 0.25 : 1));
    }
    return {
      elapsed_seconds: at + 1,
      phase: at < 10 ? "WARMUP" : "MEASUREMENT",
      ops,
      errors: isStall ? 6 : 0,
      active_connections: 16,
      response,
    };
  });
  const measured = seconds.filter(({ phase }) => phase === "MEASUREMENT");
  const response = mergeHistograms(measured.map((second) => second.response));
  const errors = measured.reduce((sum, second) => sum + second.errors, 0);
  const ops = response.count;
  const encoded = response.encode();
  const base = {
    phase: "MEASUREMENT",
    step: 0,
    rows: ops,
    response: encoded,
    service: encoded,
  } as const;
  const series = [
    { ...base, operation: "look", kind: "POINT_LOOKUP", ops, errors: {} },
    { ...base, operation: "pay", kind: "UPDATE", ops, errors: { timeout: errors } },
  ] as const;
  const scenario = scenarioOf({ workload: { concurrent_connections: 16, duration_seconds: 60 } });
  return {
    run_id: "run-7f3a",
    test_name: "Checkout before the release",
    status: "COMPLETED",
    cancellation_reason: null,
    started_at: "2026-03-01T09:30:00.000Z",
    ended_at: "2026-03-01T09:31:10.000Z",
    measured_seconds: measured.length,
    worker_count: 2,
    scenario: { ...scenario, template_name: "Checkout", slos },
    figures: {
      ops,
      reads: Math.round(ops * 0.8),
      writes: Math.round(ops * 0.2),
      errors,
      errors_by_kind: errors === 0 ? {} : { timeout: errors - 2, deadlock: 2 },
      qps: ops / Math.max(1, measured.length),
      response,
      service: response,
    },
    operations: [
      { operation: "look", query_kind: "POINT_LOOKUP", ops, errors: 0, response },
      { operation: "pay", query_kind: "UPDATE", ops, errors, response },
    ],
    seconds,
    slo: evaluateSlos(slos, (of) => figuresFor(series, of), measured.length, "final"),
    find_max: null,
    generator_bound: false,
    percentiles_valid: true,
    warnings: [],
    ...changes,
  };
}
