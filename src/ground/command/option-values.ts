/** Parses option values of the command line. Commander adds the option's name to each error. */
import { InvalidArgumentError } from "commander";
import { messageOf } from "../kernel/errors.ts";
import { parseBytes, parseLimits } from "../process/index.ts";

export function parseCount(text: string): number {
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError("It must be a whole number.");
  }
  return value;
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a number from 0 to 65535.");
}

export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError("It must be a number of seconds above 0.");
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Returns milliseconds. */
export function parseAge(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,10})([smhd])$/.exec(text) ?? [];
  const ageMs = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (ageMs > 0) return ageMs;
  throw new InvalidArgumentError("It must be a time like 90s, 10m, 2h or 7d.");
}

export function parseSize(text: string): number {
  const bytes = parseBytes(text);
  if (bytes !== undefined && bytes > 0) return bytes;
  throw new InvalidArgumentError("It must be a size like 512MB or 4GB.");
}

export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Checks each limit as it is collected. */
export function collectLimits(text: string, before: readonly string[] = []): readonly string[] {
  try {
    parseLimits([text]);
  } catch (thrown) {
    throw new InvalidArgumentError(messageOf(thrown));
  }
  return [...before, text];
}

/** Accepts an API address without a path. */
export function parseApiUrl(text: string): string {
  if (/^https?:\/\/[^/\s]+\/?$/.test(text) && URL.canParse(text)) return text.replace(/\/$/, "");
  throw new InvalidArgumentError("It must be an address like http://10.0.0.1:4600.");
}

export function collectApiUrls(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, parseApiUrl(text)];
}
