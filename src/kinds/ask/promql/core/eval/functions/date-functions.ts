/** Parts of the UTC date of a time in seconds: of every value, or of the steps themselves. */
import {
  dayOf,
  daysOfDate,
  monthOf,
  packedDate,
  yearOf,
} from "../../../../../../ground/kernel/civil-date.ts";
import { Labels } from "../../labels.ts";
import { stepFloat } from "../../model.ts";
import { stepTimes } from "../step-columns.ts";
import { vectorAt } from "./arguments.ts";
import { mapFloats } from "./results.ts";
import type { InstantFunction } from "./types.ts";

/** A whole second, as days since 1970 and seconds of the day. */
interface Moment {
  readonly days: number;
  readonly secondOfDay: number;
}

const secondsPerDay = 86_400;
const secondsExactMax = 2 ** 53;

/** Rounds towards zero. Values outside 64 bits become the minimum, as in Prometheus on amd64. */
function momentOf(value: number): Moment {
  const seconds = Math.trunc(value);
  if (Math.abs(seconds) <= secondsExactMax) {
    const days = Math.floor(seconds / secondsPerDay);
    return { days, secondOfDay: seconds - days * secondsPerDay };
  }
  const inRange = seconds >= -(2 ** 63) && seconds < 2 ** 63;
  return wideMoment(inRange ? BigInt(seconds) : -(2n ** 63n));
}

/** Go's calendar has no dates before this, and its arithmetic wraps around. */
const firstSecond = -9_223_372_028_715_321_600n;

function wideMoment(seconds: bigint): Moment {
  const perDay = BigInt(secondsPerDay);
  const wrapped = seconds < firstSecond ? seconds + 2n ** 64n : seconds;
  const rest = ((wrapped % perDay) + perDay) % perDay;
  return { days: Number((wrapped - rest) / perDay), secondOfDay: Number(rest) };
}

const date = ({ days }: Moment): number => packedDate(days);

const parts: readonly (readonly [name: string, part: (moment: Moment) => number])[] = [
  ["day_of_month", (moment) => dayOf(date(moment))],
  // 1970-01-01 was a Thursday.
  ["day_of_week", ({ days }) => (((days + 4) % 7) + 7) % 7],
  ["day_of_year", (moment) => moment.days - daysOfDate(yearOf(date(moment)), 1, 1) + 1],
  ["days_in_month", (moment) => daysInMonth(date(moment))],
  ["hour", ({ secondOfDay }) => Math.floor(secondOfDay / 3_600)],
  ["minute", ({ secondOfDay }) => Math.floor(secondOfDay / 60) % 60],
  ["month", (moment) => monthOf(date(moment))],
  ["year", (moment) => yearOf(date(moment))],
];

function daysInMonth(packed: number): number {
  const [year, month] = [yearOf(packed), monthOf(packed)];
  const next = month === 12 ? daysOfDate(year + 1, 1, 1) : daysOfDate(year, month + 1, 1);
  return next - daysOfDate(year, month, 1);
}

function dateFunction(part: (moment: Moment) => number): InstantFunction {
  return (args, context) => {
    if (args.length > 0) {
      return mapFloats(vectorAt(args, 0), context, (value) => part(momentOf(value)));
    }
    const values = stepTimes(context.grid).map((ms) => part(momentOf(ms / 1_000)));
    const kinds = new Uint8Array(values.length).fill(stepFloat);
    const series = { labels: Labels.empty, dropName: false, kinds, values, histograms: undefined };
    return { type: "vector", series: [series] };
  };
}

export const dateFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] =
  parts.map(([name, part]) => [name, dateFunction(part)]);
