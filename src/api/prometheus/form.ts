/** A request's parameters, from its address and its form, and what Prometheus's API takes them for. */
import type { FastifyRequest } from "fastify";
import type { Matcher } from "../../promql/core/index.ts";
import { parseDuration, parseMatchers } from "../../promql/core/index.ts";
import { badData, badParameter } from "./answers.ts";

/** The times that Prometheus's clients send for "from the beginning" and "to the end". */
const minTimeMs = -8_640_000_000_000_000;
const maxTimeMs = 8_640_000_000_000_000;
const boundaryTimes: ReadonlyMap<string, number> = new Map([
  ["-292273086-05-16T16:47:06Z", minTimeMs],
  ["292277025-08-18T07:12:54.999999999Z", maxTimeMs],
]);

export const defaultStartMs: number = minTimeMs;
export const defaultEndMs: number = maxTimeMs;

/** Of a name in both, the form's value counts. */
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

/** Seconds since 1970, or RFC 3339. Whole milliseconds. */
function parseTime(text: string): number | undefined {
  const seconds = parseNumber(text);
  if (seconds !== undefined)
    return Number.isFinite(seconds) ? Math.round(seconds * 1000) : undefined;
  const boundary = boundaryTimes.get(text);
  if (boundary !== undefined) return boundary;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Seconds, or Prometheus's own (`1m30s`). `undefined`: it is not there. */
export function durationOf(form: URLSearchParams, name: string): number | undefined {
  const text = form.get(name) ?? "";
  if (text === "") return undefined;
  const seconds = parseNumber(text);
  const ms = seconds === undefined ? parsedDuration(text) : seconds * 1000;
  if (ms === undefined) {
    throw badParameter(name, `cannot parse ${JSON.stringify(text)} to a valid duration`);
  }
  if (Math.abs(ms) > 9_223_372_036_854) {
    const reason = `cannot parse ${JSON.stringify(text)} to a valid duration. It overflows int64`;
    throw badParameter(name, reason);
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

/** 0: no limit. */
export function limitOf(form: URLSearchParams): number {
  const text = form.get("limit") ?? "";
  if (text === "") return 0;
  if (!/^[+-]?\d+$/.test(text)) {
    throw badParameter("limit", `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  const limit = Number(text);
  if (limit < 0) throw badParameter("limit", "limit must be non-negative");
  return limit;
}

/** A number of the catalogue endpoints; `undefined` where it is absent. */
export function countOf(form: URLSearchParams, name: string): number | undefined {
  const text = form.get(name) ?? "";
  if (text === "") return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badData(`${name} must be a number`);
  return Number(text);
}

/** Every set has a matcher that does not match the empty text: otherwise it would ask for everything. */
export function matcherSetsOf(form: URLSearchParams): (readonly Matcher[])[] {
  return form.getAll("match[]").map((text) => {
    let matchers: readonly Matcher[];
    try {
      matchers = parseMatchers(text);
    } catch (thrown) {
      throw badParameter("match[]", thrown instanceof Error ? thrown.message : String(thrown));
    }
    return matchers;
  });
}

function parseNumber(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  return Number(text);
}
