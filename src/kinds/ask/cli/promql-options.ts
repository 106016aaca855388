/** Parses the times of a query from the command line. */

import { exitCodes, Failure } from "../../../ground/command/index.ts";
import { parseDuration } from "../promql/core/index.ts";

export interface PromqlOptions {
  readonly time?: string;
  readonly range?: string;
  readonly start?: string;
  readonly end?: string;
  readonly step?: string;
  readonly timeout?: number;
  readonly points?: boolean;
  readonly explain?: boolean;
}

export type Moment =
  | { readonly kind: "instant"; readonly timeMs: number }
  | {
      readonly kind: "range";
      readonly startMs: number;
      readonly endMs: number;
      readonly stepMs: number;
    };

/** Steps that read well on an axis. */
const niceSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400,
];

export function momentOf(options: PromqlOptions, nowMs: number): Moment {
  const { range, start, step } = options;
  const endOption = options.end === undefined ? "--time" : "--end";
  const endMs = timeOf(endOption, options.end ?? options.time, nowMs) ?? nowMs;
  if (range === undefined && start === undefined) {
    if (step !== undefined) throw usage("--step goes with --range or --start");
    return { kind: "instant", timeMs: timeOf("--time", options.time, nowMs) ?? endMs };
  }
  if (range !== undefined && start !== undefined)
    throw usage("--range and --start exclude each other");
  const startMs =
    range === undefined
      ? (timeOf("--start", start, nowMs) ?? nowMs)
      : endMs - durationOf("--range", range);
  if (startMs > endMs) throw usage("the range ends before it begins");
  const stepMs = step === undefined ? niceStepMs(endMs - startMs) : durationOf("--step", step);
  if (stepMs <= 0) throw usage("--step must be above 0");
  return { kind: "range", startMs, endMs, stepMs };
}

/** Chooses a step that gives about a hundred points. */
function niceStepMs(rangeMs: number): number {
  const wantedSeconds = rangeMs / 100_000;
  const seconds = niceSteps.find((each) => each >= wantedSeconds);
  return (seconds ?? Math.ceil(wantedSeconds / 86_400) * 86_400) * 1000;
}

/** Seconds since 1970, RFC 3339, or a duration before now. */
function timeOf(option: string, text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const parsed = Date.parse(text);
  if (/^\d{4}-/.test(text) && !Number.isNaN(parsed)) return parsed;
  const ago = durationIn(text);
  if (ago !== undefined) return nowMs - ago;
  throw usage(
    `${option} ${JSON.stringify(text)} is not a time: seconds, RFC 3339, or 5m for five minutes ago`,
  );
}

function durationOf(option: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const ms = durationIn(text);
  if (ms !== undefined) return ms;
  throw usage(`${option} ${JSON.stringify(text)} is not a duration like 30s, 5m, 1h or 7d`);
}

function durationIn(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

function usage(message: string): Failure {
  return new Failure("usage", message, exitCodes.usage);
}
