/** Converts values from the wire to our types. An invalid value throws `protocol_violation`. */
import { OperatingError } from "./errors.ts";

export function violation(what: string): OperatingError {
  return new OperatingError("protocol_violation", "never", what);
}

/** Parses `raw`; errors call it `field`. */
export function parsed<Raw extends string | number, T>(
  field: string,
  raw: Raw,
  parse: (raw: Raw) => T | undefined,
): T {
  const value = parse(raw);
  if (value === undefined) throw violation(`${field} is not valid: ${shortened(String(raw))}`);
  return value;
}

/**
 * Converts a 64-bit number of the wire, which must be exact as a JavaScript number (below 2^53).
 */
export function safeInteger(field: string, raw: bigint): number {
  const value = Number(raw);
  if (!Number.isSafeInteger(value)) throw violation(`${field} is too large: ${raw}`);
  return value;
}

export function text(field: string, raw: string, lengthMax: number): string {
  if (raw.length > lengthMax) throw violation(`${field} is longer than ${lengthMax} characters`);
  return raw;
}

export function httpUrl(field: string, raw: string): string {
  const isHttp = /^https?:\/\/[^\s/]+(\/\S*)?$/.test(raw) && URL.canParse(raw);
  if (!isHttp || raw.length > 2_048) throw violation(`${field} is not an HTTP address`);
  return raw;
}

/** Requires a message field to be present. */
export function present<T>(field: string, raw: T | undefined): T {
  if (raw === undefined) throw violation(`${field} is missing`);
  return raw;
}

/** The word for a number of an enum. */
export function word<Word extends string>(
  field: string,
  raw: number,
  words: Readonly<Record<Word, number>>,
): Word {
  for (const [name, value] of Object.entries(words)) {
    if (value === raw) return name as Word;
  }
  throw violation(`${field} has an unknown value: ${raw}`);
}

function shortened(raw: string): string {
  return JSON.stringify(raw.length > 40 ? `${raw.slice(0, 40)}…` : raw);
}
