/**
 * The numbers of a control session, in one place, and the two formulas that use them.
 *
 * With the defaults a silent worker is detected at most 3.5 s after its last answer: the next three
 * heartbeats go out 1, 2 and 3 s after the answered one, and the third is missed at its deadline.
 * The answer itself came one round trip after its heartbeat, so the bound is `3 s + deadline −
 * RTT`, and `deadline − RTT` is at most 500 ms for every RTT (`answerMultiplier` and
 * `answerConstantMs` are chosen so).
 */
import { backoffMs } from "../../kernel/backoff.ts";
import { assert } from "../../kernel/errors.ts";

export interface SessionTiming {
  /** The time between two heartbeats. */
  readonly heartbeatMs: number;
  /** An answer is due `clamp(last RTT × multiplier + constant, min, max)` after its heartbeat. */
  readonly answerMultiplier: number;
  readonly answerConstantMs: number;
  readonly answerMsMin: number;
  /** May be raised to 10 s for slow links, which slows detection. */
  readonly answerMsMax: number;
  /** The number of consecutive misses that count as failure. */
  readonly missesMax: number;
  /** The limit from the dial to the welcome; on the worker, from the connection to the hello. */
  readonly greetingMs: number;
  readonly backoffMsMin: number;
  /** The longest wait between two dials: the interval at which an unreachable worker is probed. */
  readonly backoffMsMax: number;
  /** After a session of this length the next backoff starts from the beginning. */
  readonly settledMs: number;
  /** On the worker: a controller that sends nothing for this long is gone. */
  readonly controllerSilenceMsMax: number;
}

export const defaultSessionTiming: SessionTiming = {
  heartbeatMs: 1_000,
  answerMultiplier: 1.5,
  answerConstantMs: 250,
  answerMsMin: 500,
  answerMsMax: 1_000,
  missesMax: 3,
  greetingMs: 2_000,
  backoffMsMin: 100,
  backoffMsMax: 10_000,
  settledMs: 10_000,
  controllerSilenceMsMax: 5_000,
};

/** Numbers that cannot work together are a bug. */
export function assertTiming(timing: SessionTiming): void {
  const { heartbeatMs, answerMsMin, answerMsMax, controllerSilenceMsMax } = timing;
  assert(answerMsMin <= answerMsMax, "the answer's deadline has an order of clamps");
  // A heartbeat may wait until the one before it is missed; the worker must not give up meanwhile.
  assert(controllerSilenceMsMax > heartbeatMs + answerMsMax, "a worker outwaits a heartbeat");
}

/** How long to wait for an answer. An unknown RTT gets the longest time. */
export function answerWaitMs(timing: SessionTiming, lastRttMs: number | undefined): number {
  if (lastRttMs === undefined) return timing.answerMsMax;
  const wished = lastRttMs * timing.answerMultiplier + timing.answerConstantMs;
  return Math.min(timing.answerMsMax, Math.max(timing.answerMsMin, wished));
}

/**
 * How long to wait before the next dial after consecutive failures. Exponential, with a random
 * upper half, so that controllers that lost a worker together do not return together.
 */
export function backoffWaitMs(timing: SessionTiming, failures: number, random: number): number {
  const { backoffMsMin, backoffMsMax } = timing;
  const backoff = { minMs: 2 * backoffMsMin, maxMs: backoffMsMax };
  return Math.max(backoffMsMin, backoffMs(backoff, failures, random));
}
