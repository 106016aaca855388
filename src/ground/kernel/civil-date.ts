/** The calendar (proleptic Gregorian, UTC), computed from a count of days. */

export const msPerDay = 86_400_000;
/** Days from 0000-03-01, the start of a 400-year era, to 1970-01-01. */
const daysToEpoch = 719_468;
const daysPerEra = 146_097;

/**
 * The date so many days after 1970-01-01, as `year * 512 + month * 32 + day`: one number, so that
 * no object is made for a row. Years start in March here, so that the leap day is the last of a
 * year and the days before a month are a linear function of the month.
 */
export function packedDate(days: number): number {
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
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return year * 512 + month * 32 + day;
}

export function yearOf(packed: number): number {
  return Math.floor(packed / 512);
}

export function monthOf(packed: number): number {
  return Math.floor(packed / 32) - yearOf(packed) * 16;
}

export function dayOf(packed: number): number {
  return packed - Math.floor(packed / 32) * 32;
}

/** Days from 1970-01-01 to a date. */
export function daysOfDate(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const monthFromMarch = month > 2 ? month - 3 : month + 9;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * daysPerEra + dayOfEra - daysToEpoch;
}
