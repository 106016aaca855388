/** How much of the time the target answered. Rules: AV1 to AV4. */
import { figuresOf, toMs } from "./figures.ts";
import { Histogram, mergeHistograms } from "./histogram.ts";
import type { Answering, SeriesSnapshot } from "./worker-snapshot.ts";

export interface Availability {
  readonly availability_pct: number;
  readonly longest_silence_ms: number;
  /** Silences up to this length do not count as absence (AV3). */
  readonly usual_silence_ms: number;
  /** The share of the connections' time that was stalled, in percent (AV4). */
  readonly stalled_pct: number;
}

/** Longer than a pause of a healthy process (garbage collection, a checkpoint, a busy machine). */
const silenceMsMin = 500;
/** Shorter, because no pause of a healthy process refuses a connection. */
const outageMsMin = 100;
/** A silence counts when it is this many times longer than the usual gap between answers. */
export const usualFactor = 10;
/** With fewer silences the usual gap is unknown: they may be the failure itself. */
const silencesMin = 5;
/** AV4 */
const stall = { msMin: 2_000, factor: 3 };
/** With fewer successes an operation's usual latency is unknown. */
const successesMin = 20;

/** The figures of a run's operations that AV1 and AV3 need. */
export interface UsualAnswers {
  /** The median latency of the slowest operation. Null when nothing succeeded. */
  readonly medianMs: number | null;
  readonly successes: number;
  /** The 99th percentile of each operation with successes, in milliseconds. */
  readonly highMs: ReadonlyMap<string, number>;
  /** Operations were due, and none succeeded. */
  readonly isDead: boolean;
}

export function usualAnswersOf(series: readonly SeriesSnapshot[]): UsualAnswers {
  const all = figuresOf(series);
  const services = [...Map.groupBy(series, ({ operation }) => operation)].map(
    ([operation, own]) => [operation, figuresOf(own).service] as const,
  );
  const medians = services
    .filter(([, { count }]) => count >= successesMin)
    .map(([, service]) => toMs(service.percentileUs(0.5)) ?? 0);
  const median = toMs(all.service.percentileUs(0.5));
  return {
    medianMs: median === null ? null : Math.max(median, ...medians),
    successes: all.ops - all.errors,
    highMs: new Map(
      services.map(([operation, service]) => [operation, toMs(service.percentileUs(0.99)) ?? 0]),
    ),
    isDead: all.ops + all.unserved > 0 && all.ops === all.errors,
  };
}

/** Null when no worker measured. */
export function availabilityOf(
  workers: readonly Answering[],
  answers: UsualAnswers,
): Availability | null {
  const measuredMs = workers.reduce(
    (sum, { measured_ms: ms, frozen_ms: frozenMs = 0 }) => sum + Math.max(0, ms - frozenMs), // SI6
    0,
  );
  if (measuredMs <= 0) return null;
  const heard = workers.map(({ silences, outages = "" }) => ({
    all: Histogram.read(silences),
    refused: Histogram.read(outages),
  }));
  const answered = mergeHistograms(heard.map(({ all, refused }) => all.since(refused)));
  const usualMs = Math.max(silenceMsMin, usualFactor * gapMsOf(answered, measuredMs, answers));
  let [silentMs, longestMs] = [0, 0];
  for (const { all, refused } of heard) {
    longestMs = Math.max(longestMs, (all.maxUs ?? 0) / 1000);
    // Longer outages are among the silences.
    silentMs +=
      sumBeyond(all, usualMs) + sumBeyond(refused, outageMsMin) - sumBeyond(refused, usualMs);
  }
  const stalled = stalledShareOf(workers, answers);
  const silent = Math.min(1, Math.max(0, silentMs) / measuredMs);
  // A silence is a stall of all connections.
  const share = answers.isDead ? 1 : Math.max(silent, stalled);
  return {
    availability_pct: (1 - share) * 100,
    longest_silence_ms: longestMs,
    usual_silence_ms: usualMs,
    stalled_pct: stalled * 100,
  };
}

/** AV4 */
function stalledShareOf(workers: readonly Answering[], { highMs }: UsualAnswers): number {
  const connectionMs = workers.reduce((sum, { connection_ms: ms = 0 }) => sum + ms, 0);
  const stalls = workers.flatMap((each) => Object.entries(each.stalls ?? {}));
  const stalledMs = stalls.reduce((sum, [operation, text]) => {
    const limitMs = Math.max(stall.msMin, stall.factor * (highMs.get(operation) ?? 0));
    return sum + sumBeyond(Histogram.read(text), limitMs);
  }, 0);
  return connectionMs <= 0 ? 0 : Math.min(1, Math.max(0, stalledMs) / connectionMs);
}

/** The usual gap between answers, in milliseconds (AV3). */
function gapMsOf(silences: Histogram, measuredMs: number, answers: UsualAnswers): number {
  const { medianMs, successes } = answers;
  if (medianMs === null || successes === 0) return 0;
  const isTelling = silences.count >= silencesMin;
  const silenceMs = isTelling ? (toMs(silences.percentileUs(0.5)) ?? 0) : 0;
  return Math.min(medianMs, Math.max(measuredMs / successes, silenceMs));
}

function sumBeyond(histogram: Histogram, limitMs: number): number {
  if ((histogram.maxUs ?? 0) / 1000 <= limitMs) return 0;
  let sumMs = histogram.sumUs / 1000; // The sum is exact; the part subtracted below is small.
  for (const { lowUs, highUs, count } of histogram.buckets()) {
    const middleMs = (lowUs + highUs - 1) / 2000;
    if (highUs / 1000 <= limitMs) sumMs -= middleMs * count;
  }
  return sumMs;
}
