/** Durations as text, and the values of duration expressions. */
import type { DurationExpr } from "./ast.ts";
import { PromqlError } from "./engine-types.ts";
import { compute } from "./eval/float-operators.ts";
import { quoteText } from "./print/quote.ts";

/** In the order they are written in, from the largest to the smallest. */
const units: readonly (readonly [unit: string, ms: number])[] = [
  ["y", 365 * 24 * 3_600_000],
  ["w", 7 * 24 * 3_600_000],
  ["d", 24 * 3_600_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
];
/** Prometheus keeps durations as signed 64-bit nanoseconds. */
const nsMax = (1n << 63n) - 1n;
const uint64Max = (1n << 64n) - 1n;
export const durationSecondsMax: number = 2 ** 63 / 1e9;

/** Returns milliseconds, or what is wrong with the text. */
export function readDuration(text: string): number | { readonly error: string } {
  if (text === "0") return 0;
  if (text === "") return { error: "empty duration string" };
  const invalid = { error: `not a valid duration string: ${quoteText(text)}` };
  let totalMs = 0n;
  let previous = -1;
  for (let rest = text; rest !== ""; ) {
    const [whole = "", digits = "", unit = ""] = /^([0-9]+)([^0-9]+)/.exec(rest) ?? [];
    if (whole === "" || BigInt(digits) > uint64Max) return invalid;
    rest = rest.slice(whole.length);
    const rank = units.findIndex(([name]) => name === unit);
    if (rank < 0) {
      return { error: `unknown unit ${quoteText(unit)} in duration ${quoteText(text)}` };
    }
    if (rank <= previous) return invalid;
    previous = rank;
    totalMs += BigInt(digits) * BigInt(units[rank]?.[1] ?? 0);
    if (totalMs * 1_000_000n > nsMax) return { error: "duration out of range" };
  }
  return Number(totalMs);
}

/** Returns milliseconds, for example of `1h30m`. Throws Prometheus's message. */
export function parseDuration(text: string): number {
  const duration = readDuration(text);
  if (typeof duration === "number") return duration;
  throw new PromqlError("parse", duration.error);
}

/** Uses years and weeks only where they are exact: 90d reads better than 12w6d. */
export function formatDuration(ms: number): string {
  let rest = Math.trunc(Math.abs(ms));
  if (rest === 0) return "0s";
  let text = ms < 0 ? "-" : "";
  for (const [unit, unitMs] of units) {
    if ((unit === "y" || unit === "w") && rest % unitMs !== 0) continue;
    const count = Math.floor(rest / unitMs);
    if (count === 0) continue;
    text += `${count}${unit}`;
    rest -= count * unitMs;
  }
  return text;
}

/** Rounds through whole nanoseconds, like Prometheus. */
export function secondsToMs(seconds: number): number {
  const nanoseconds = roundAwayFromZero(seconds * 1e9);
  return Math.trunc(nanoseconds / 1e6);
}

export function roundAwayFromZero(value: number): number {
  const truncated = Math.trunc(value);
  return Math.abs(value - truncated) >= 0.5 ? truncated + Math.sign(value) : truncated;
}

export interface DurationContext {
  /** The query's step; 0 for an instant query. */
  readonly stepMs: number;
  /** From the query's start to its end; 0 for an instant query. */
  readonly rangeMs: number;
}

/** Returns milliseconds. With `"positive"`, throws unless they are greater than 0. */
export function resolveDuration(
  duration: DurationExpr,
  context: DurationContext,
  allowed: "any" | "positive" = "any",
): number {
  if (duration.kind === "duration") return duration.ms;
  const seconds = evaluate(duration, context);
  if (!Number.isFinite(seconds)) throw refusal(duration, "duration is NaN or infinite");
  if (seconds <= 0 && allowed === "positive") {
    throw refusal(duration, "duration must be greater than 0");
  }
  if (Math.abs(seconds) > durationSecondsMax) throw refusal(duration, "duration is out of range");
  return Math.trunc(seconds * 1000);
}

function evaluate(duration: DurationExpr, context: DurationContext): number {
  switch (duration.kind) {
    case "duration":
      return duration.seconds;
    case "durationUnary": {
      const operand = evaluate(duration.operand, context);
      return duration.op === "-" ? -operand : operand;
    }
    case "durationCall": {
      if (duration.name === "step") return context.stepMs / 1000;
      if (duration.name === "range") return context.rangeMs / 1000;
      const [left = Number.NaN, right = Number.NaN] = duration.args.map((arg) =>
        evaluate(arg, context),
      );
      return duration.name === "min_of" ? Math.min(left, right) : Math.max(left, right);
    }
    case "durationBinary":
      return evaluateBinary(duration, context);
  }
}

function evaluateBinary(
  duration: DurationExpr & { readonly kind: "durationBinary" },
  context: DurationContext,
): number {
  const { op } = duration;
  const left = evaluate(duration.left, context);
  const right = evaluate(duration.right, context);
  if (op === "/" && right === 0) throw refusal(duration, "division by zero");
  if (op === "%" && right === 0) throw refusal(duration, "modulo by zero");
  return compute(op, left, right);
}

/** Prometheus gives the position as two offsets here, not as line and column. */
function refusal(duration: DurationExpr, message: string): PromqlError {
  const { position } = duration;
  return new PromqlError("parse", `${position.start}:${position.end}: ${message}`, position);
}
