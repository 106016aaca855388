/**
 * Whether the generator, not the target, was what a run measured.
 *
 *   GB1  A run is bound by the generator when a quarter of its time was, as `generatorBoundReason`
 *        judges it. Each snapshot stands for the time since the one before: a generator that was
 *        frozen for 4 s tells of them once. What it was late by may be told by the next one.
 */
import { generatorBoundReason } from "./generator-health.ts";
import type { GeneratorHealth } from "./worker-snapshot.ts";

const shareMax = 0.25;
/** A snapshot comes once a second: one that stands for more came late. */
const lateSecondsMin = 2;

/** What a worker said of itself, and of how much time. */
export interface HealthSpan {
  readonly workerId: string;
  readonly health: GeneratorHealth;
  readonly seconds: number;
}

export interface BoundRun {
  readonly isBound: boolean;
  /** What was wrong first, and for how long: empty where nothing was. */
  readonly reason: string;
}

/** Of MEASUREMENT, each worker's in order. */
export function generatorBoundOf(spans: readonly HealthSpan[]): BoundRun {
  const reasons: string[] = [];
  let [boundSeconds, allSeconds] = [0, 0];
  for (const [index, { workerId, health, seconds }] of spans.entries()) {
    allSeconds += seconds;
    const next = spans[index + 1];
    const isToldLater = seconds >= lateSecondsMin && next?.workerId === workerId;
    const reason =
      generatorBoundReason(health) ?? (isToldLater ? generatorBoundReason(next.health) : null);
    if (reason === null) continue;
    boundSeconds += seconds;
    reasons.push(reason);
  }
  const [first = ""] = reasons;
  const isBound = reasons.length > 0 && boundSeconds >= shareMax * allSeconds;
  return {
    isBound,
    reason: `${Math.round(boundSeconds)} of ${Math.round(allSeconds)} seconds: ${first}`,
  };
}
