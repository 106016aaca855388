/**
 * What the page knows of one run, and how each message changes it. Pure.
 * An update is the whole state and replaces the one before. Seconds and log lines are collected,
 * within bounds. A log line occurs once, ordered by its sequence number, even when it is sent again
 * after a lost connection.
 */

import type { LogLine, RunPhase, RunSecond, RunUpdate } from "../../../api/gen/types.ts";
import type { LinkStatus } from "../../../api/link.ts";
import { type ChartSecond, liveSecond, mergeSeconds, storedSecond } from "./chart-seconds.ts";
import { type GeneratorWatch, stepGenerator, unwatched } from "./generator-warning.ts";
import { idleTimers, stepTimers, type Timers } from "./phase-timers.ts";

export interface LiveRun {
  readonly update: RunUpdate | undefined;
  /** The time by this browser's clock. */
  readonly receivedAtMs: number;
  readonly timers: Timers;
  readonly seconds: readonly ChartSecond[];
  readonly logs: readonly LogLine[];
  readonly generator: GeneratorWatch;
  readonly link: LinkStatus;
}

export type LiveEvent =
  | {
      readonly kind: "update";
      readonly update: RunUpdate;
      readonly nowMs: number;
      readonly isOpenEnded: boolean;
    }
  | { readonly kind: "seconds"; readonly rows: readonly RunSecond[] }
  | { readonly kind: "logs"; readonly lines: readonly LogLine[] }
  | { readonly kind: "link"; readonly status: LinkStatus };

export const logLinesMax = 2_000;

export const unknownRun: LiveRun = {
  update: undefined,
  receivedAtMs: 0,
  timers: idleTimers,
  seconds: [],
  logs: [],
  generator: unwatched,
  link: { kind: "connecting" },
};

export function stepLiveRun(state: LiveRun, event: LiveEvent): LiveRun {
  switch (event.kind) {
    case "update": {
      const { update, nowMs, isOpenEnded } = event;
      return {
        ...state,
        update,
        receivedAtMs: nowMs,
        timers: stepTimers(state.timers, update, nowMs, isOpenEnded),
        seconds: isMeasured(update.phase)
          ? mergeSeconds(state.seconds, [liveSecond(update)])
          : state.seconds,
        logs: mergeLogs(state.logs, update.logs),
        generator:
          update.phase === "MEASUREMENT" ? stepGenerator(state.generator, update) : state.generator,
      };
    }
    case "seconds": {
      const rows = event.rows.filter(({ phase }) => isMeasured(phase));
      return { ...state, seconds: mergeSeconds(state.seconds, rows.map(storedSecond)) };
    }
    case "logs":
      return { ...state, logs: mergeLogs(state.logs, event.lines) };
    case "link":
      return { ...state, link: event.status };
  }
}

/** Before and after these phases there is no load to draw. */
export function isMeasured(phase: RunPhase): boolean {
  return phase === "WARMUP" || phase === "MEASUREMENT";
}

/** Merges by sequence number, without duplicates. */
function mergeLogs(before: readonly LogLine[], added: readonly LogLine[]): readonly LogLine[] {
  const last = before.at(-1)?.sequence ?? 0;
  if (added.length === 0) return before;
  if (added.every(({ sequence }, at) => sequence > (added[at - 1]?.sequence ?? last))) {
    return [...before, ...added].slice(-logLinesMax);
  }
  const bySequence = new Map([...before, ...added].map((line) => [line.sequence, line]));
  return [...bySequence.values()].sort((a, b) => a.sequence - b.sequence).slice(-logLinesMax);
}
