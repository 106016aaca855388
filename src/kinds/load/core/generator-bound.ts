/** Whether the generator, not the target, was what a run measured. Rules: GB1 and GB2. */

import { generatorBoundReason } from "./generator-health.ts";
import type { LoadWorkerId } from "./ids.ts";
import type { Answering, GeneratorHealth } from "./worker-snapshot.ts";

const shareMax = 0.25;
/** Snapshots come once a second: one that covers more time came late. */
const lateSecondsMin = 2;

/** A worker's health, and the time it covers. */
export interface HealthSpan {
  readonly workerId: LoadWorkerId;
  readonly health: GeneratorHealth;
  readonly seconds: number;
}

export interface BoundRun {
  readonly isBound: boolean;
  /** The first problem and how long it lasted; empty when there was none. */
  readonly reason: string;
}

/** `spans` covers MEASUREMENT, in order for each worker. */
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

export interface FrozenRun {
  /** The longest freeze time of a worker. */
  readonly frozenMs: number;
  /** The mean freeze time of the workers. */
  readonly meanMs: number;
  /** Arrivals that all workers did not send. */
  readonly skipped: number;
  /** The warning to show. Undefined when the freeze was too short to matter (GB2). */
  readonly warning: string | undefined;
}

const frozenMsMax = 1_000;
const frozenShareMax = 0.02;

/** `workers` are the last reports, one for each worker. */
export function frozenOf(workers: readonly Answering[]): FrozenRun {
  let [frozenMs, sumMs, skipped, isLong] = [0, 0, 0, false];
  for (const { measured_ms: measuredMs, frozen_ms: ownMs = 0, skipped: own = 0 } of workers) {
    frozenMs = Math.max(frozenMs, ownMs);
    sumMs += ownMs;
    skipped += own;
    isLong ||= ownMs > frozenMsMax || ownMs > frozenShareMax * measuredMs;
  }
  const meanMs = workers.length === 0 ? 0 : sumMs / workers.length;
  return { frozenMs, meanMs, skipped, warning: isLong ? warningOf(frozenMs, skipped) : undefined };
}

function warningOf(frozenMs: number, skipped: number): string {
  const arrivals = skipped === 1 ? "1 arrival that came" : `${skipped} arrivals that came`;
  const unsent = skipped === 0 ? "" : `; ${arrivals} due then went unsent and are in no figure`;
  const seconds = Number((frozenMs / 1000).toPrecision(3));
  return `The load generator did not run for ${seconds} s (it was paused or starved of CPU, or its machine was asleep): what the target did then is not known${unsent}.`;
}
