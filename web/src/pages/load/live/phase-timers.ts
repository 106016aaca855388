/**
 * The two clocks of a run: all of it, and its phase. The server says once a second how long it has been; between that this
 * page's own clock goes on. Pure.
 *
 *   1  Neither goes backwards, whatever is said or however late: the phase's begins anew with a new phase only.
 *   2  Without news they stand still after `aheadMsMax`: nobody knows then whether the run goes on.
 *   3  A phase that has a length is never shown as longer than it.
 */

import type { RunPhase, RunUpdate } from "../../../api/gen/types.ts";
import { isTerminal } from "../../../api/load.ts";

export interface Timers {
  readonly totalS: number;
  readonly phase: RunPhase;
  readonly phaseS: number;
  /** `undefined`: it ends when something happens. */
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

/** `isOpenEnded`: of a search for the maximum, whose measurement lasts as long as it needs. */
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
    totalS: Math.max(shown.totalS, timing.elapsed_display_seconds), // 1
    phase,
    phaseS: Math.max(isSamePhase ? shown.phaseS : 0, timing.phase_elapsed_seconds),
    phaseLengthS: length ?? undefined,
    atMs: nowMs,
    ticks: status !== "PREPARED" && !isTerminal(status),
  };
}

/** What they show at a moment. */
export function readTimers(timers: Timers, nowMs: number): Timers {
  const { totalS, phaseS, phaseLengthS = Number.POSITIVE_INFINITY, atMs, ticks } = timers;
  const aheadMs = Math.min(Math.max(0, nowMs - atMs), aheadMsMax); // 2
  const aheadS = ticks ? aheadMs / 1_000 : 0;
  return {
    ...timers,
    totalS: totalS + aheadS,
    phaseS: Math.min(phaseS + aheadS, phaseLengthS), // 3
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
