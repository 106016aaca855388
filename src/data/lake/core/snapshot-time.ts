/**
 * Times in the catalog's notation: `2026-01-31 12:00:00.000+00`, always UTC with three decimals, so
 * that texts sort as the times do. Years 1970 to 9999.
 */
import {
  dayOf,
  daysOfDate,
  monthOf,
  msPerDay,
  packedDate,
  yearOf,
} from "../../../ground/kernel/civil-date.ts";
import { assert } from "../../../ground/kernel/errors.ts";

const timeMsMax = 253_402_300_799_999;

export function formatSnapshotTime(timeMs: number): string {
  assert(Number.isInteger(timeMs) && timeMs >= 0 && timeMs <= timeMsMax, `${timeMs} is a time`);
  const packed = packedDate(Math.floor(timeMs / msPerDay));
  const inDay = timeMs % msPerDay;
  const hours = Math.floor(inDay / 3_600_000);
  const minutes = Math.floor(inDay / 60_000) % 60;
  const seconds = Math.floor(inDay / 1_000) % 60;
  const date = `${pad(yearOf(packed), 4)}-${pad(monthOf(packed), 2)}-${pad(dayOf(packed), 2)}`;
  return `${date} ${pad(hours, 2)}:${pad(minutes, 2)}:${pad(seconds, 2)}.${pad(inDay % 1_000, 3)}+00`;
}

const timeText = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?\+00(?::?00)?$/;

/** Accepts the fewer or more digits of other writers too. Undefined for any other text. */
export function parseSnapshotTime(text: string): number | undefined {
  const match = timeText.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hours, minutes, seconds] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const millis = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const days = daysOfDate(year, month, day);
  return days * msPerDay + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 + millis;
}

function pad(value: number, width: number): string {
  return `${value}`.padStart(width, "0");
}
