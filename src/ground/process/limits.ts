/**
 * Limits that an operator may change with `--limit name=value`. Errors name the limit, so that the
 * user knows what to ask for. docs/limits.md has the same table; a test compares them.
 */
import { OperatingError } from "../kernel/errors.ts";

export interface LimitRule {
  readonly usual: number;
  readonly min: number;
  readonly text: string;
}

const mebibyte = 1024 ** 2;

export const limitRules = {
  connections: { usual: 2_048, min: 16, text: "connections of the API in all" },
  connections_per_client: { usual: 512, min: 4, text: "connections of one client address" },
  connections_for_health: {
    usual: 32,
    min: 1,
    text: "connections beside those, for /healthz and /readyz alone",
  },
  requests_per_connection: {
    usual: 64,
    min: 1,
    text: "requests of a connection that wait for one before them",
  },
  event_streams: {
    usual: 256,
    min: 1,
    text: "event streams and WebSockets of the dashboard, in all",
  },
  event_streams_per_client: { usual: 64, min: 1, text: "the same of one client address" },
  request_bytes: {
    usual: 256 * mebibyte,
    min: mebibyte,
    text: "bytes of request bodies that are arriving at once",
  },
  labels_per_series: { usual: 128, min: 1, text: "labels of a series that is written" },
  label_name_bytes: { usual: 1_024, min: 1, text: "bytes of a label's name that is written" },
  label_value_bytes: { usual: 16_384, min: 1, text: "bytes of a label's value that is written" },
  series_label_bytes: {
    usual: 65_536,
    min: 256,
    text: "bytes of all labels of a series that is written",
  },
  buckets_per_histogram: {
    usual: 4_096,
    min: 16,
    text: "buckets of a native histogram that is written, of either sign",
  },
  matchers_per_request: {
    usual: 1_000,
    min: 1,
    text: "matchers of all selectors of a query, or of all match[] of a request",
  },
  query_steps: {
    usual: 1_000_000_000,
    min: 1_000,
    text: "steps that subqueries make a PromQL query evaluate for each series",
  },
  query_label_bytes: {
    usual: 128 * mebibyte,
    min: mebibyte,
    text: "bytes of labels that a PromQL query holds at a time, also those that it makes",
  },
  uploads: { usual: 64, min: 1, text: "files for COPY that are being sent, or wait for it" },
  upload_bytes: {
    usual: 20 * 1024 * mebibyte,
    min: mebibyte,
    text: "bytes of all those files on the coordinator's disk",
  },
  upload_idle_seconds: {
    usual: 600,
    min: 1,
    text: "seconds until one that nobody adds to or uses is deleted",
  },
} as const satisfies Readonly<Record<string, LimitRule>>;

export type LimitName = keyof typeof limitRules;
export type Limits = Readonly<Record<LimitName, number>>;

export const usualLimits: Limits = Object.fromEntries(
  Object.entries(limitRules).map(([name, { usual }]) => [name, usual]),
) as Record<LimitName, number>;

/** Parses `connections=100`; a name may be given only once. Throws `bad_request`. */
export function parseLimits(given: readonly string[]): Limits {
  const limits: Record<LimitName, number> = { ...usualLimits };
  for (const text of given) {
    const [, name = "", digits = ""] = /^([a-z_]+)=(\d{1,15})$/.exec(text) ?? [];
    if (!isLimitName(name)) {
      throw badLimit(text, `expected NAME=NUMBER, of ${Object.keys(limitRules).join(", ")}`);
    }
    const { min } = limitRules[name];
    if (Number(digits) < min) throw badLimit(text, `expected at least ${min}`);
    limits[name] = Number(digits);
  }
  return limits;
}

function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(limitRules, name);
}

function badLimit(text: string, wanted: string): OperatingError {
  return new OperatingError("bad_request", "never", `--limit ${text}: ${wanted}`);
}
