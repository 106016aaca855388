/**
 * Functions of times, which are milliseconds since 1970 in UTC. A time comes as the halves of its
 * 64 bits, so that years beyond what a double counts in milliseconds are right, too.
 */
import {
  dayOf,
  daysOfDate,
  monthOf,
  msPerDay,
  packedDate,
  yearOf,
} from "../../../../../ground/kernel/civil-date.ts";
import { DialectError } from "../../../language/core/index.ts";
import { isoTimeBytesMax, parseIsoTime, writeIsoTime } from "../time/iso-time.ts";
import type { TextArena } from "./text-arena.ts";

const two32 = 4_294_967_296;

/** Whole days since 1970. `high` is signed or not, as the type is. */
function daysOf(high: number, low: number): number {
  if (high >= -0x200000 && high < 0x200000) return Math.floor((high * two32 + low) / msPerDay);
  return Number(exactDays(high, low));
}

function exactDays(high: number, low: number): bigint {
  const ms = BigInt(high) * 4_294_967_296n + BigInt(low);
  const days = ms / 86_400_000n;
  return days * 86_400_000n > ms ? days - 1n : days;
}

function msOfDay(high: number, low: number): number {
  if (high >= -0x200000 && high < 0x200000) {
    const ms = high * two32 + low;
    return ms - Math.floor(ms / msPerDay) * msPerDay;
  }
  const ms = BigInt(high) * 4_294_967_296n + BigInt(low);
  return Number(ms - exactDays(high, low) * 86_400_000n);
}

export function yearOfTime(high: number, low: number): number {
  return yearOf(packedDate(daysOf(high, low)));
}

export function monthOfTime(high: number, low: number): number {
  return monthOf(packedDate(daysOf(high, low)));
}

export function dayOfTime(high: number, low: number): number {
  return dayOf(packedDate(daysOf(high, low)));
}

export function hourOfTime(high: number, low: number): number {
  return Math.floor(msOfDay(high, low) / 3_600_000);
}

export function minuteOfTime(high: number, low: number): number {
  return Math.floor(msOfDay(high, low) / 60_000) % 60;
}

export function secondOfTime(high: number, low: number): number {
  return Math.floor(msOfDay(high, low) / 1_000) % 60;
}

/** From 0 for Sunday to 6 for Saturday. */
export function dayOfWeekOfTime(high: number, low: number): number {
  const shifted = daysOf(high, low) + 4;
  return shifted - Math.floor(shifted / 7) * 7;
}

/** Whole days since 1970 to the beginning of the month or year. */
export function daysToMonth(high: number, low: number): number {
  const date = packedDate(daysOf(high, low));
  return daysOfDate(yearOf(date), monthOf(date), 1);
}

export function daysToYear(high: number, low: number): number {
  return daysOfDate(yearOfTime(high, low), 1, 1);
}

export function formatTime(arena: TextArena, high: number, low: number): void {
  const at = arena.begin(isoTimeBytesMax);
  arena.end = writeIsoTime(arena.bytes, at, daysOf(high, low), msOfDay(high, low));
}

export function parseTime(
  bytes: Uint8Array,
  start: number,
  end: number,
  isSigned: boolean,
): number {
  const ms = parseIsoTime(bytes, start, end);
  if (ms !== undefined && (isSigned || ms >= 0)) return ms;
  const shown = new TextDecoder().decode(bytes.subarray(start, Math.min(end, start + 60)));
  const range = ms === undefined ? "of ISO 8601" : "after 1970";
  throw new DialectError(4003, `'${shown}' is no time ${range}`);
}
