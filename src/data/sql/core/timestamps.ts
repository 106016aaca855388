import { daysOfDate } from "../../../ground/kernel/civil-date.ts";

/** Parses DuckDB's ISO 8601: `2024-05-01`, `2024-05-01T12:30:00.5+02:00`. Default: UTC. */

const pattern =
  /^\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?\s*$/i;

/** Milliseconds since 1970, rounded down; undefined for any other text. */
export function parseTimestamp(text: string): number | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = found
    .slice(1, 7)
    .map((part: string | undefined) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const days = daysSince1970(year, month, day);
  if (days === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = offsetMinutes(found[8]);
  if (offset === undefined) return undefined;
  const fractionMs = Math.floor(Number(`0.${found[7] ?? "0"}`) * 1_000);
  return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1_000 + fractionMs;
}

function offsetMinutes(text: string | undefined): number | undefined {
  if (text === undefined || text.toUpperCase() === "Z") return 0;
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d{2}):?(\d{2})?$/.exec(text) ?? [];
  if (Number(hours) > 15 || Number(minutes) > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** Undefined when there is no such day. */
function daysSince1970(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  return daysOfDate(year, month, day);
}

function daysInMonth(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return isLeap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
