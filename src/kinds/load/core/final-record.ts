/**
 * What a run has measured, as one record. It is made when the run ends, made again when the lake's
 * records of single operations are there, and stored: the page, the command line, the report, JUnit
 * and comparisons read it there, so that all of them say the same. Rules: FF1 to FF3.
 */
import { availabilityOf, usualAnswersOf } from "./availability.ts";
import { figuresFor, figuresOf } from "./figures.ts";
import type { FindMaxResult } from "./find-max.ts";
import {
  type BoundRun,
  type FrozenRun,
  frozenOf,
  generatorBoundOf,
  type HealthSpan,
} from "./generator-bound.ts";
import { mergeHistograms } from "./histogram.ts";
import {
  arePercentilesValid,
  type Latency,
  type LatencySummary,
  type Measured,
  measuredOf,
  summaryOf,
} from "./latency.ts";
import type { QueryKind } from "./operation.ts";
import { isTerminal, type RunStatus } from "./run-state.ts";
import type { Scenario } from "./scenario.ts";
import { evaluateSlos, missedSlos, type SloOutcome } from "./slo.ts";
import { judgeRun, passedAtEnd, type RunVerdict } from "./verdict.ts";
import type { Answering, SeriesSnapshot } from "./worker-snapshot.ts";

/** A larger share of resent requests, in percent, causes a warning. */
const resentPctMax = 1;

export interface RecordedOperation extends Latency {
  readonly operation: string;
  readonly query_kind: QueryKind;
  readonly ops: number;
  readonly errors: number;
  readonly unserved: number | null;
  /** Successful operations per second. */
  readonly qps: number;
  readonly failed_latency: LatencySummary | null;
}

export interface FinalRecord extends Latency, RunVerdict {
  readonly measured_seconds: number;
  readonly total_operations: number;
  readonly read_operations: number;
  readonly write_operations: number;
  readonly failed_operations: number;
  /** Null when unknown. */
  readonly unserved: number | null;
  readonly error_rate_pct: number;
  readonly unserved_pct: number | null;
  /**
   * Requests that were sent again because the target had closed their connection (HT5). Null when
   * unknown.
   */
  readonly resent_requests: number | null;
  /**
   * The longest time that a worker's generator did not run (SI6), and the arrivals due then (GE10).
   * Null when unknown. Rates exclude this time.
   */
  readonly generator_frozen_ms: number | null;
  readonly skipped_arrivals: number | null;
  readonly qps: number;
  readonly percentiles_valid: boolean;
  readonly percentiles_from: "records" | "histograms";
  readonly service_latency: LatencySummary;
  /** Null when nothing failed, or when an earlier version counted failures with successes. */
  readonly failed_latency: LatencySummary | null;
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly errors_by_kind: Readonly<Record<string, number>>;
  /** The target's first message for each kind of failure. */
  readonly error_examples: Readonly<Record<string, string>>;
  readonly operations: readonly RecordedOperation[];
  readonly slos: readonly SloOutcome[];
  readonly generator_bound: boolean;
  readonly warnings: readonly string[];
}

export interface RecordFacts {
  readonly scenario: Scenario;
  /** The series of all workers in MEASUREMENT. */
  readonly series: readonly SeriesSnapshot[];
  readonly measuredSeconds: number;
  /** The health of MEASUREMENT, in order for each worker. */
  readonly health: readonly HealthSpan[];
  /** The last report of each worker. */
  readonly answering: readonly Answering[];
  readonly errorExamples: Readonly<Record<string, string>>;
  readonly workerCount: number;
  readonly lostWorkers: number;
  readonly status: RunStatus;
  /** The result of a search for the maximum. */
  readonly search?: FindMaxResult | null;
  /**
   * Exact figures of `ALL`, of kinds and of operations. Undefined when the records are incomplete.
   */
  readonly recorded?: ReadonlyMap<string, LatencySummary> | undefined;
}

export function finalRecordOf(facts: RecordFacts): FinalRecord {
  const { scenario, series, recorded } = facts;
  const frozen = frozenOf(facts.answering);
  const seconds = runSecondsOf(facts, frozen);
  const figures = figuresOf(series);
  const isOld = series.some(({ failed }) => failed === null); // FF3
  const availability = availabilityOf(facts.answering, usualAnswersOf(series));
  const of = (name: string): Measured => measuredOf(figuresFor(series, name), recorded?.get(name));
  const all = of("ALL");
  const when = isTerminal(facts.status) ? "final" : "live";
  const slo = evaluateSlos(scenario.slos, of, { seconds, availability }, when);
  const { ops, errors, unserved } = figures;
  const loadMode = scenario.workload.loadMode;
  const hasCompleted = facts.status === "COMPLETED";
  const { search = null } = facts;
  const operations = operationsOf(facts, seconds, isOld);
  const counted = {
    ...{ loadMode, ops, errors, unserved, operations },
    ...{ availability, search, hasCompleted },
  };
  const judged: RunVerdict =
    when === "live" || isOld
      ? {
          verdict: passedAtEnd(slo.verdict, hasCompleted || when === "live"),
          reasons: missedSlos(slo),
          has_broken_limits: false,
          allowances: [],
        }
      : judgeRun(scenario.verdict, counted, slo);
  const bound = generatorBoundOf(facts.health);
  const due = ops + unserved;
  return {
    measured_seconds: facts.measuredSeconds,
    total_operations: ops,
    read_operations: figures.reads,
    write_operations: figures.writes,
    failed_operations: errors,
    unserved: isOld ? null : unserved,
    error_rate_pct: ops === 0 ? 0 : (errors / ops) * 100,
    unserved_pct: isOld ? null : due === 0 ? 0 : (unserved / due) * 100,
    resent_requests: isOld ? null : resentOf(facts),
    generator_frozen_ms: isOld ? null : frozen.frozenMs,
    skipped_arrivals: isOld ? null : frozen.skipped,
    qps: seconds > 0 ? (ops - errors) / seconds : 0,
    ...all.latency,
    percentiles_valid: arePercentilesValid(all.latency),
    percentiles_from: recorded === undefined ? "histograms" : "records",
    service_latency: summaryOf({ response: figures.service, censored: mergeHistograms([]) }),
    failed_latency: failedLatency(figures.failed),
    availability_pct: isOld ? null : (availability?.availability_pct ?? null),
    longest_silence_ms: isOld ? null : (availability?.longest_silence_ms ?? null),
    errors_by_kind: figures.errorsByKind,
    error_examples: facts.errorExamples,
    operations,
    ...judged,
    slos: slo.slos,
    generator_bound: bound.isBound || frozen.warning !== undefined,
    warnings: warningsOf(facts, all, bound, frozen, isOld),
  };
}

/** The part of MEASUREMENT in which the generators ran: nothing could be answered in the rest. */
function runSecondsOf({ measuredSeconds }: RecordFacts, { meanMs }: FrozenRun): number {
  return Math.max(0, measuredSeconds - meanMs / 1000);
}

function operationsOf(
  { series, recorded }: RecordFacts,
  seconds: number,
  isOld: boolean,
): readonly RecordedOperation[] {
  return [...Map.groupBy(series, ({ operation }) => operation)].map(([operation, own]) => {
    const figures = figuresOf(own);
    const { ops, errors, unserved } = figures;
    return {
      operation,
      query_kind: own[0]?.kind ?? "CUSTOM",
      ops,
      errors,
      unserved: isOld ? null : unserved,
      qps: seconds > 0 ? (ops - errors) / seconds : 0,
      ...measuredOf(figures, recorded?.get(operation)).latency,
      failed_latency: failedLatency(figures.failed),
    };
  });
}

function failedLatency(failed: ReturnType<typeof figuresOf>["failed"]): LatencySummary | null {
  return failed.count === 0 ? null : summaryOf({ response: failed, censored: mergeHistograms([]) });
}

function resentOf({ answering }: RecordFacts): number {
  return answering.reduce((sum, { resent = 0 }) => sum + resent, 0);
}

function warningsOf(
  facts: RecordFacts,
  { ops, unserved, latency }: Measured,
  bound: BoundRun,
  frozen: FrozenRun,
  isOld: boolean,
): readonly string[] {
  const { lostWorkers, workerCount } = facts;
  const isLeast = !arePercentilesValid(latency);
  const resent = resentOf(facts);
  const resentPct = ops === 0 ? 0 : (resent / ops) * 100;
  return [
    ...(bound.isBound
      ? [`Load generator saturated (${bound.reason}): the target may be faster than these figures.`]
      : []),
    ...(frozen.warning === undefined ? [] : [frozen.warning]),
    ...(isLeast
      ? [
          `${unserved} ${unserved === 1 ? "arrival" : "arrivals"} went unserved: percentiles marked ≥ are least values.`,
        ]
      : []),
    ...(resentPct > resentPctMax
      ? [
          `${resent} requests (${Number(resentPct.toPrecision(3))} % of operations) were sent again: the target closed their connections after an answer without announcing it. Each counts once, with the time of both attempts.`,
        ]
      : []),
    ...(lostWorkers === 0 ? [] : [`${lostWorkers} of ${workerCount} workers were lost`]),
    ...(isOld
      ? [
          "Measured by an earlier version: latencies include failed operations; unserved arrivals and availability are not known.",
        ]
      : []),
  ];
}
