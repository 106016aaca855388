/** The calendar (proleptic Gregorian, UTC), computed from a count of days. */

const msPerDay = 86_400_000;
/** Days from 0000-03-01, the start of a 400-year era, to 1970-01-01. */
const daysToEpoch = 719_468;
const daysPerEra = 146_097;

export interface CivilDate {
  readonly year: number;
  /** From 1 to 12. */
  readonly month: number;
  /** From 1 to 31. */
  readonly day: number;
}

/**
 * The date `days` after 1970-01-01. Years start in March here, so that the leap day is the last of
 * a year and the days before a month are a linear function of the month.
 */
export function civilDate(days: number): CivilDate {
  const shifted = days + daysToEpoch;
  const era = Math.floor(shifted / daysPerEra);
  const dayOfEra = shifted - era * daysPerEra;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** Days from 1970-01-01 to the first of a month. */
export function daysBeforeMonth(year: number, month: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const monthFromMarch = month > 2 ? month - 3 : month + 9;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5);
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * daysPerEra + dayOfEra - daysToEpoch;
}

/** Formats to the second, as in `2024-02-29T12:00:00Z`. */
export function formatUtc(ms: number): string {
  const days = Math.floor(ms / msPerDay);
  const { year, month, day } = civilDate(days);
  const seconds = Math.floor((ms - days * msPerDay) / 1_000);
  const two = (part: number): string => String(part).padStart(2, "0");
  const date = `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
  const time = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${date}T${time}Z`;
}
