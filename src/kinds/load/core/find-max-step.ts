/**
 * What a step of a search measured, and how well that is known: from the seconds of all its
 * attempts. Rules: FM2, FM7 and FM8.
 */

import { Histogram } from "./histogram.ts";
import type { LoadWorkerId } from "./ids.ts";
import { sum } from "./statistics.ts";

/**
 * One second of one worker in a step. The first second of a step contains part of the second
 * before.
 */
export interface StepSecond {
  readonly workerId: LoadWorkerId;
  readonly atMs: number;
  readonly connections: number;
  readonly qps: number;
  /** Empty when latencies per second are unknown. */
  readonly response: Histogram;
  readonly isLate: boolean;
}

/** Figures of all attempts with one number of connections, merged over all workers. */
export interface StepStats {
  readonly qps: number;
  readonly qpsLow: number;
  readonly qpsHigh: number;
  readonly p95Ms: number;
  readonly p95LowMs: number;
  readonly p95HighMs: number;
  readonly ops: number;
  readonly errorRatePct: number;
  /** The share of attempts in which the server reported a queue. */
  readonly queuedShare: number;
  /** FM7 */
  readonly secondsDiscarded: number;
  readonly isLate: boolean;
}

export interface StepCounts {
  readonly ops: number;
  readonly errors: number;
  /** Response times of all seconds, used when seconds have none of their own. */
  readonly response: Histogram;
  readonly queuedShare: number;
}

/** Minimum number of clean seconds in all attempts. */
const cleanSecondsMin = 3;
const secondMs = 1_000;
/** Operations that began in a late second end in the next one. */
const lateReachMs = 1_500;
/** The minimum relative error, from histogram buckets and clocks. */
const errorFloor = 0.005;
const tail = 0.95;

/**
 * One element of `attempts` for each time the step was run, with the seconds of all workers, in
 * order.
 */
export function measureStep(
  attempts: readonly (readonly StepSecond[])[],
  counts: StepCounts,
): StepStats {
  const whole = attempts.map((attempt) => byWorker(attempt).flatMap((own) => own.slice(1)));
  const clean = whole.map(cleanSeconds);
  const count = (all: readonly (readonly StepSecond[])[]): number => all.flat().length;
  const isLate = count(clean) < Math.min(cleanSecondsMin, count(whole));
  const usable = (isLate ? whole : clean).map(moving).filter((seconds) => seconds.length > 0);
  const rates = usable.map(attemptRate).filter(({ qps }) => qps > 0);
  const qps = mean(rates.map((rate) => rate.qps));
  const error = rateError(rates);
  return {
    qps,
    qpsLow: qps * Math.max(0, 1 - error),
    qpsHigh: qps * (1 + error),
    ...tailOf(usable.flat(), counts.response),
    ops: counts.ops,
    errorRatePct: counts.ops === 0 ? 0 : (counts.errors / counts.ops) * 100,
    queuedShare: counts.queuedShare,
    secondsDiscarded: isLate ? 0 : count(whole) - count(clean),
    isLate,
  };
}

/** FM7 */
function cleanSeconds(attempt: readonly StepSecond[]): readonly StepSecond[] {
  const late = attempt.filter(({ isLate }) => isLate);
  return attempt.filter(
    ({ isLate, atMs }) =>
      !isLate &&
      !late.some((each) => atMs - each.atMs < lateReachMs && each.atMs - atMs < secondMs),
  );
}

/** The seconds in which the target did not stall (FM2). */
function moving(seconds: readonly StepSecond[]): readonly StepSecond[] {
  return byWorker(seconds).flatMap((own) => {
    const sorted = own.map(({ qps }) => qps).sort((left, right) => left - right);
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
    return own.filter(({ qps }) => qps >= median / 2);
  });
}

interface AttemptRate {
  readonly qps: number;
  /** Each second's rate over its worker's mean, less 1. */
  readonly deviations: readonly number[];
  /** The relative error because operations cross the edges of seconds. */
  readonly cutError: number;
}

/** The rate of all workers together. */
function attemptRate(seconds: readonly StepSecond[]): AttemptRate {
  // A worker without connections has no part in it.
  const busy = byWorker(seconds).filter((own) => own.some(({ qps }) => qps > 0));
  const workers = busy.map((own) => ({
    counted: mean(own.map(({ qps }) => qps)),
    // Little's law.
    expected: (own[0]?.connections ?? 0) / (meanSeconds(own) ?? Infinity),
    latency: meanSeconds(own) ?? 0,
    own,
  }));
  const counted = sum(workers.map((worker) => worker.counted));
  const expected = sum(workers.map((worker) => worker.expected));
  const cutError = Math.max(
    0,
    ...workers.map(({ latency, own }) => latency / Math.max(1, own.length)),
  );
  const agrees = counted > 0 && Math.abs(expected / counted - 1) <= cutError + 0.02;
  const deviations = workers.flatMap(({ own, latency, counted: rate }) =>
    own.map((second) => {
      const own = meanSeconds([second]);
      return agrees && own !== undefined && own > 0 ? latency / own - 1 : second.qps / rate - 1;
    }),
  );
  return { qps: agrees ? expected : counted, deviations, cutError: agrees ? 0 : cutError / 2 };
}

/** The relative error of the rate (FM8). */
function rateError(attempts: readonly AttemptRate[]): number {
  const all = attempts.flatMap(({ deviations }) => deviations);
  if (all.length < 2) return 1;
  const within = (studentT(all.length - 1) * deviationOf(all)) / Math.sqrt(all.length);
  const rates = attempts.map(({ qps }) => qps);
  const between =
    rates.length < 2 ? 0 : (2.5 * deviationOf(rates)) / Math.sqrt(rates.length) / mean(rates);
  const cut = Math.max(...attempts.map(({ cutError }) => cutError)) / Math.sqrt(attempts.length);
  return Math.max(within, between) + cut + errorFloor;
}

/**
 * The interval of p95: the values at ranks around it (FM8). Its width depends on the number of
 * operations, and on how much more the seconds differ than chance explains.
 */
function tailOf(
  seconds: readonly StepSecond[],
  whole: Histogram,
): Pick<StepStats, "p95Ms" | "p95LowMs" | "p95HighMs"> {
  const merged = new Histogram();
  for (const { response } of seconds) merged.merge(response);
  const all = merged.count === 0 ? whole : merged;
  const ms = (share: number): number => (all.percentileUs(share) ?? 0) / 1000;
  const limitUs = all.percentileUs(tail) ?? 0;
  const shares = seconds.flatMap(({ response }) =>
    response.count === 0 ? [] : [1 - response.countUpTo(limitUs) / response.count],
  );
  const chance = Math.sqrt((tail * (1 - tail)) / Math.max(1, all.count));
  const spread = shares.length < 2 ? 0 : deviationOf(shares) / Math.sqrt(shares.length);
  const reach = 2 * Math.max(chance, spread);
  return {
    p95Ms: ms(tail),
    p95LowMs: ms(Math.max(0, tail - reach)),
    p95HighMs: ms(Math.min(1, tail + reach)),
  };
}

function byWorker(seconds: readonly StepSecond[]): readonly (readonly StepSecond[])[] {
  return [...Map.groupBy(seconds, ({ workerId }) => workerId).values()];
}

/** Undefined when unknown. */
function meanSeconds(seconds: readonly StepSecond[]): number | undefined {
  const ops = sum(seconds.map(({ response }) => response.count));
  return ops === 0 ? undefined : sum(seconds.map(({ response }) => response.sumUs)) / ops / 1e6;
}

/** Student's t for 95 %, two-sided, within 2 %. */
function studentT(freedom: number): number {
  const small = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
  return small[freedom - 1] ?? 1.96 + 2.6 / freedom;
}

function deviationOf(values: readonly number[]): number {
  const middle = mean(values);
  const squares = values.map((value) => (value - middle) ** 2);
  return Math.sqrt(sum(squares) / Math.max(1, values.length - 1));
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}
