/** A run's report, simulated: warm-up, a stall, a few errors. */
import { createPrng } from "../../../ground/kernel/prng.ts";
import { finalRecordOf } from "../core/final-record.ts";
import { Histogram, mergeHistograms } from "../core/histogram.ts";
import type { ReportSecond, RunReport } from "../core/report/run-report.ts";
import type { SloConfig } from "../core/scenario.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";
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
      seconds: 1,
      ops: ops + (isStall ? 6 : 0),
      errors: isStall ? 6 : 0,
      active_connections: 16,
      response,
    };
  });
  const measured = seconds.filter(({ phase }) => phase === "MEASUREMENT");
  const response = mergeHistograms(measured.map((second) => second.response));
  const errors = measured.reduce((sum, second) => sum + second.errors, 0);
  const encoded = response.encode();
  const base = {
    phase: "MEASUREMENT",
    step: 0,
    rows: response.count,
    response: encoded,
    service: encoded,
    failed: "",
    unserved: 0,
    censored: "",
  } as const;
  const failed = new Histogram();
  failed.recordMany(30_000, errors);
  const series: readonly SeriesSnapshot[] =
    response.count === 0
      ? []
      : [
          { ...base, operation: "look", kind: "POINT_LOOKUP", ops: response.count, errors: {} },
          {
            ...base,
            operation: "pay",
            kind: "UPDATE",
            ops: response.count + errors,
            errors: errors === 0 ? {} : { timeout: errors - 2, deadlock: 2 },
            failed: failed.encode(),
          },
        ];
  const usual = scenarioOf({ workload: { concurrentConnections: 16, durationSeconds: 60 } });
  const scenario = { ...usual, templateName: "Checkout", slos };
  const record = finalRecordOf({
    scenario,
    series,
    measuredSeconds: measured.length,
    health: [],
    answering: [{ measured_ms: measured.length * 1_000, silences: "" }],
    errorExamples: errors === 0 ? {} : { timeout: "no answer within 30000 ms", deadlock: "40P01" },
    workerCount: 2,
    lostWorkers: 0,
    status: "COMPLETED",
  });
  return {
    run_id: "run-7f3a",
    test_name: "Checkout before the release",
    status: "COMPLETED",
    cancellation_reason: null,
    started_at: "2026-03-01T09:30:00.000Z",
    ended_at: "2026-03-01T09:31:10.000Z",
    worker_count: 2,
    scenario,
    record,
    response,
    seconds,
    find_max: null,
    ...changes,
  };
}
