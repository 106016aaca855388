/**
 * The two clocks of a run: the total and its phase. The server reports both once a second; in
 * between this page's clock continues. Pure.
 * Neither goes backwards, even when an update is late; the phase clock restarts only with a new
 * phase. Without updates both stop after `aheadMsMax`, because the run may have ended. A phase is
 * never shown as longer than its length.
 */

import type { RunPhase, RunUpdate } from "../../../api/gen/types.ts";
import { isTerminal } from "../../../api/load.ts";

export interface Timers {
  readonly totalS: number;
  readonly phase: RunPhase;
  readonly phaseS: number;
  /** Undefined when the phase has no fixed length. */
  readonly phaseLengthS: number | undefined;
  readonly atMs: number;
  readonly ticks: boolean;
}

const aheadMsMax = 3_000;

export const idleTimers: Timers = {
  totalS: 0,
  phase: "",
  phaseS: 0,
  phaseLengthS: undefined,
  atMs: 0,
  ticks: false,
};

type TimedUpdate = Pick<RunUpdate, "status" | "phase" | "timing">;

/** `isOpenEnded` is set for a search for the maximum, whose measurement has no fixed length. */
export function stepTimers(
  before: Timers,
  { status, phase, timing }: TimedUpdate,
  nowMs: number,
  isOpenEnded: boolean,
): Timers {
  const shown = readTimers(before, nowMs);
  const isSamePhase = phase === before.phase;
  const length = isOpenEnded && phase === "MEASUREMENT" ? null : timing.phase_duration_seconds;
  return {
    totalS: Math.max(shown.totalS, timing.elapsed_display_seconds),
    phase,
    phaseS: Math.max(isSamePhase ? shown.phaseS : 0, timing.phase_elapsed_seconds),
    phaseLengthS: length ?? undefined,
    atMs: nowMs,
    ticks: status !== "PREPARED" && !isTerminal(status),
  };
}

/** What the clocks show at a moment. */
export function readTimers(timers: Timers, nowMs: number): Timers {
  const { totalS, phaseS, phaseLengthS = Number.POSITIVE_INFINITY, atMs, ticks } = timers;
  const aheadMs = Math.min(Math.max(0, nowMs - atMs), aheadMsMax);
  const aheadS = ticks ? aheadMs / 1_000 : 0;
  return {
    ...timers,
    totalS: totalS + aheadS,
    phaseS: Math.min(phaseS + aheadS, phaseLengthS),
    atMs: nowMs,
  };
}

/** `4 s`, `1:05`, `2:03:04`. */
export function formatTimer(seconds: number): string {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
