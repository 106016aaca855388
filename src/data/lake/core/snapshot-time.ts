/**
 * Times in the catalog's notation: `2026-01-31 12:00:00.000+00`, always UTC with three decimals, so
 * that texts sort as the times do. Years 1970 to 9999.
 */
import { assert } from "../../../ground/kernel/errors.ts";

const dayMs = 86_400_000;
const timeMsMax = 253_402_300_799_999;

export function formatSnapshotTime(timeMs: number): string {
  assert(Number.isInteger(timeMs) && timeMs >= 0 && timeMs <= timeMsMax, `${timeMs} is a time`);
  const { year, month, day } = civilDate(Math.floor(timeMs / dayMs));
  const inDay = timeMs % dayMs;
  const hours = Math.floor(inDay / 3_600_000);
  const minutes = Math.floor(inDay / 60_000) % 60;
  const seconds = Math.floor(inDay / 1_000) % 60;
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
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
  const days = daysOf(year, month, day);
  return days * dayMs + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 + millis;
}

function pad(value: number, width: number): string {
  return `${value}`.padStart(width, "0");
}

/** Years begin in March, so that the leap day comes last: the usual Gregorian arithmetic. */
const daysPer400Years = 146_097;
const daysToMarch1970 = 719_468;

function daysOf(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * daysPer400Years + yearOfEra * 365 + leapDays + dayOfYear - daysToMarch1970;
}

function civilDate(days: number): { year: number; month: number; day: number } {
  const shifted = days + daysToMarch1970;
  const era = Math.floor(shifted / daysPer400Years);
  const dayOfEra = shifted - era * daysPer400Years;
  const leapDays =
    Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1 };
}
