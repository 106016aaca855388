/** ISO 8601 times from and to bytes: `2026-02-16T12:00:00.000Z`. */

import {
  dayOf,
  daysOfDate,
  monthOf,
  msPerDay,
  packedDate,
  yearOf,
} from "../../../../../ground/kernel/civil-date.ts";
import { writePadded, writeUnsigned32 } from "../numbers/format-number.ts";

/** The most bytes that a time takes; a year has up to nine digits. */
export const isoTimeBytesMax = 32;

const daysInMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/**
 * Milliseconds since 1970, or `undefined`. A date alone is its midnight; `T` may be a blank;
 * seconds and their fraction may be missing, and digits beyond milliseconds are cut off; without
 * `Z` or an offset (`+02:00`, `+0200`, `+02`) it is UTC.
 */
export function parseIsoTime(bytes: Uint8Array, start: number, end: number): number | undefined {
  const year = digits(bytes, start, 4, end);
  const month = digits(bytes, start + 5, 2, end);
  const day = digits(bytes, start + 8, 2, end);
  if (bytes[start + 4] !== 45 || bytes[start + 7] !== 45) return undefined;
  if (year < 0 || month < 1 || month > 12 || day < 1) return undefined;
  if (day > (daysInMonth[month - 1] as number)) return undefined;
  const days = daysOfDate(year, month, day);
  if (month === 2 && day === 29 && monthOf(packedDate(days)) !== 2) return undefined;
  let at = start + 10;
  if (at === end) return days * msPerDay;
  const separator = (bytes[at] as number) | 32;
  if (separator !== 116 && separator !== 32) return undefined;
  const hour = digits(bytes, at + 1, 2, end);
  const minute = bytes[at + 3] === 58 ? digits(bytes, at + 4, 2, end) : -1;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return undefined;
  at += 6;
  let ms = (hour * 60 + minute) * 60_000;
  if (at < end && bytes[at] === 58) {
    const second = digits(bytes, at + 1, 2, end);
    if (second < 0 || second > 59) return undefined;
    ms += second * 1_000;
    at += 3;
    if (at < end && (bytes[at] === 46 || bytes[at] === 44)) {
      at += 1;
      let scale = 100;
      const first = at;
      for (; at < end && isDigit(bytes[at] as number); at += 1) {
        ms += Math.floor(scale) * ((bytes[at] as number) - 48);
        scale /= 10;
      }
      if (at === first) return undefined;
    }
  }
  const offset = offsetMinutes(bytes, at, end);
  return offset === undefined ? undefined : days * msPerDay + ms - offset * 60_000;
}

/** `undefined`: what is left is no offset. */
function offsetMinutes(bytes: Uint8Array, start: number, end: number): number | undefined {
  if (start === end) return 0;
  const sign = bytes[start] as number;
  if ((sign | 32) === 122) return end === start + 1 ? 0 : undefined;
  if (sign !== 43 && sign !== 45) return undefined;
  const hours = digits(bytes, start + 1, 2, end);
  let minutes = 0;
  if (end !== start + 3) {
    const at = bytes[start + 3] === 58 ? start + 4 : start + 3;
    minutes = digits(bytes, at, 2, end);
    if (at + 2 !== end) return undefined;
  }
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return undefined;
  return (hours * 60 + minutes) * (sign === 45 ? -1 : 1);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** A number of exactly so many digits, or -1. */
function digits(bytes: Uint8Array, start: number, count: number, end: number): number {
  if (start + count > end) return -1;
  let value = 0;
  for (let at = start; at < start + count; at += 1) {
    const code = bytes[at] as number;
    if (!isDigit(code)) return -1;
    value = value * 10 + code - 48;
  }
  return value;
}

/** Writes the time `ms` milliseconds after the midnight `days` days after 1970-01-01. */
export function writeIsoTime(out: Uint8Array, at: number, days: number, ms: number): number {
  const packed = packedDate(days);
  let place = at;
  let year = yearOf(packed);
  if (year < 0) {
    out[place] = 45;
    place += 1;
    year = -year;
  }
  place = year < 10_000 ? writePadded(out, place, year, 4) : writeUnsigned32(out, place, year);
  out[place] = 45;
  place = writePadded(out, place + 1, monthOf(packed), 2);
  out[place] = 45;
  place = writePadded(out, place + 1, dayOf(packed), 2);
  out[place] = 84;
  place = writePadded(out, place + 1, Math.floor(ms / 3_600_000), 2);
  out[place] = 58;
  place = writePadded(out, place + 1, Math.floor(ms / 60_000) % 60, 2);
  out[place] = 58;
  place = writePadded(out, place + 1, Math.floor(ms / 1_000) % 60, 2);
  out[place] = 46;
  place = writePadded(out, place + 1, ms % 1_000, 3);
  out[place] = 90;
  return place + 1;
}
