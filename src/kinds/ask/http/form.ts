/**
 * Parses a request's parameters from its address and its form, by the rules of Prometheus's API.
 */
import type { FastifyRequest } from "fastify";
import { messageOf } from "../../../ground/kernel/errors.ts";
import { usualLimits } from "../../../ground/process/index.ts";
import type { Matcher } from "../promql/core/index.ts";
import { compileMatchers, Labels, parseDuration, parseMatchers } from "../promql/core/index.ts";
import { badData, badParameter } from "./answers.ts";

/**
 * The first and the last time. Times beyond are clamped, because clients send them for
 * "everything".
 */
const minTimeMs = -8_640_000_000_000_000;
const maxTimeMs = 8_640_000_000_000_000;
const boundaryTimes: ReadonlyMap<string, number> = new Map([
  ["-292273086-05-16T16:47:06Z", minTimeMs],
  ["292277025-08-18T07:12:54.999999999Z", maxTimeMs],
]);

export const defaultStartMs: number = minTimeMs;
export const defaultEndMs: number = maxTimeMs;

/** When both have a name, the form's value counts. */
export function formOf(request: FastifyRequest): URLSearchParams {
  const search = request.url.indexOf("?");
  const form = new URLSearchParams(typeof request.body === "string" ? request.body : "");
  if (search >= 0) {
    for (const [name, value] of new URLSearchParams(request.url.slice(search + 1))) {
      form.append(name, value);
    }
  }
  return form;
}

export function timeOf(form: URLSearchParams, name: string, absent: number | undefined): number {
  const text = form.get(name) ?? "";
  if (text === "" && absent !== undefined) return absent;
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  const reason = `cannot parse ${JSON.stringify(text)} to a valid timestamp`;
  throw badParameter(
    name,
    absent === undefined ? reason : `invalid time value for '${name}': ${reason}`,
  );
}

/** Seconds since 1970, or RFC 3339, rounded to whole milliseconds. */
function parseTime(text: string): number | undefined {
  const seconds = parseNumber(text);
  if (seconds === undefined) return boundaryTimes.get(text) ?? parseRfc3339(text);
  // Only the fraction alone has enough digits for half a millisecond.
  const whole = Math.trunc(seconds);
  const ms = whole * 1000 + Math.round((seconds - whole) * 1000);
  return Math.min(Math.max(ms, minTimeMs), maxTimeMs);
}

function parseRfc3339(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return undefined;
  const asWritten = text.slice(0, 19); // Date.parse takes 30 February for 2 March.
  return new Date(`${asWritten}Z`).toISOString().startsWith(asWritten) ? ms : undefined;
}

/** Seconds, or a Prometheus duration (`1m30s`). Undefined when it is absent. */
export function durationOf(
  form: URLSearchParams,
  name: string,
  refusal = (reason: string): Error => badParameter(name, reason),
): number | undefined {
  const text = form.get(name) ?? "";
  if (text === "") return undefined;
  const seconds = parseNumber(text);
  const ms = seconds === undefined ? parsedDuration(text) : seconds * 1000;
  if (ms === undefined) {
    throw refusal(`cannot parse ${JSON.stringify(text)} to a valid duration`);
  }
  if (Math.abs(ms) > 9_223_372_036_854) {
    throw refusal(`cannot parse ${JSON.stringify(text)} to a valid duration. It overflows int64`);
  }
  return ms;
}

function parsedDuration(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

/** 0 means no limit. */
export function limitOf(form: URLSearchParams): number {
  const text = form.get("limit") ?? "";
  if (text === "") return 0;
  const limit = parseCount(text);
  if (limit === undefined) {
    const fault = isWhole.test(text) ? "value out of range" : "invalid syntax";
    throw badParameter("limit", `strconv.Atoi: parsing ${JSON.stringify(text)}: ${fault}`);
  }
  if (limit < 0) throw badParameter("limit", "limit must be non-negative");
  return limit;
}

/** A number of the catalogue endpoints; undefined when it is absent. */
export function countOf(
  form: URLSearchParams,
  name: string,
  wanted = "a number",
): number | undefined {
  const text = form.get(name) ?? "";
  if (text === "") return undefined;
  const count = parseCount(text);
  if (count === undefined) throw badData(`${name} must be ${wanted}`);
  return count;
}

/**
 * Each set needs a matcher that does not match the empty text: otherwise it would select every
 * series.
 */
export function matcherSetsOf(
  form: URLSearchParams,
  refusal: (reason: string) => Error = badData,
  matchersMax: number = usualLimits.matchers_per_request,
): (readonly Matcher[])[] {
  let count = 0;
  return form.getAll("match[]").map((text) => {
    const matchers = parseSelector(text, refusal);
    count += matchers.length;
    if (count > matchersMax) {
      throw refusal(
        `there are too many matchers; the limit matchers_per_request is ${matchersMax}`,
      );
    }
    if (!compileMatchers(matchers)(Labels.empty)) return matchers;
    throw refusal("match[] must contain at least one non-empty matcher");
  });
}

function parseSelector(text: string, refusal: (reason: string) => Error): readonly Matcher[] {
  try {
    return parseMatchers(text);
  } catch (thrown) {
    throw refusal(messageOf(thrown));
  }
}

const isWhole = /^[+-]?\d+$/;

function parseCount(text: string): number | undefined {
  const count = Number(text);
  return isWhole.test(text) && Number.isSafeInteger(count) ? count : undefined;
}

function parseNumber(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  return Number(text);
}
