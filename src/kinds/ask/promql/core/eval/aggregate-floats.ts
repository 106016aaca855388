/**
 * Aggregates one group's floats: adds each member's column to the columns of the group, in the
 * order of the members. Skips histograms; `aggregateMixed` handles those.
 */
import type { FloatAggregation } from "../ast.ts";
import { lostAfter } from "../histogram/kahan.ts";
import { type StepSeries, stepFloat } from "../model.ts";
import { quantileOf } from "./quantile.ts";
import type { StepColumns } from "./step-columns.ts";

/** The number of floats of a group at each step so far, and their aggregate. */
export interface FloatTotals {
  readonly counts: Float64Array;
  readonly values: Float64Array;
  /** The compensation of sums. */
  readonly lost: Float64Array;
}

export function newFloatTotals(steps: number): FloatTotals {
  return {
    counts: new Float64Array(steps),
    values: new Float64Array(steps),
    lost: new Float64Array(steps),
  };
}

export function aggregateFloats(
  op: FloatAggregation,
  members: readonly StepSeries[],
  steps: number,
): StepColumns {
  switch (op) {
    case "sum":
      return sumsOf(addUp(members, steps));
    case "avg":
      return averageOf(members, steps);
    case "min":
    case "max":
      return extremesOf(op, members, steps);
    case "count":
    case "group":
      return countsOf(op, members, steps);
    case "stddev":
    case "stdvar":
      return deviationsOf(op, members, steps);
  }
}

function addUp(members: readonly StepSeries[], steps: number): FloatTotals {
  const totals = newFloatTotals(steps);
  for (const member of members) addSeries(totals, member);
  return totals;
}

/** The hot loop of most queries that were not aggregated by workers. */
export function addSeries({ counts, values, lost }: FloatTotals, member: StepSeries): void {
  const { kinds, values: added } = member;
  for (let step = 0; step < kinds.length; step += 1) {
    if (kinds[step] !== stepFloat) continue;
    const value = added[step] as number;
    const count = counts[step] as number;
    counts[step] = count + 1;
    if (count === 0) {
      values[step] = value;
      continue;
    }
    const sum = values[step] as number;
    const total = sum + value;
    lost[step] = lostAfter(value, sum, total, lost[step] as number);
    values[step] = total;
  }
}

export function sumsOf({ counts, values, lost }: FloatTotals): StepColumns {
  const sums = new Float64Array(values.length);
  for (let step = 0; step < sums.length; step += 1) {
    sums[step] = (values[step] as number) + (lost[step] as number);
  }
  return { kinds: presentWhere(counts), values: sums, histograms: undefined };
}

export function presentWhere(counts: Float64Array): Uint8Array {
  const kinds = new Uint8Array(counts.length);
  for (let step = 0; step < kinds.length; step += 1) {
    kinds[step] = counts[step] === 0 ? 0 : stepFloat;
  }
  return kinds;
}

/** The sum divided by the count; a less precise running mean once the sum would overflow. */
function averageOf(members: readonly StepSeries[], steps: number): StepColumns {
  const totals = newFloatTotals(steps);
  const { counts, values, lost } = totals;
  const isMean = new Uint8Array(steps);
  for (const { kinds, values: added } of members) {
    for (let step = 0; step < steps; step += 1) {
      if (kinds[step] !== stepFloat) continue;
      const value = added[step] as number;
      const count = (counts[step] as number) + 1;
      counts[step] = count;
      if (count === 1) {
        values[step] = value;
        continue;
      }
      let sum = values[step] as number;
      if (isMean[step] === 0) {
        const total = sum + value;
        if (Math.abs(total) !== Number.POSITIVE_INFINITY) {
          lost[step] = lostAfter(value, sum, total, lost[step] as number);
          values[step] = total;
          continue;
        }
        isMean[step] = 1;
        sum /= count - 1;
        lost[step] = (lost[step] as number) / (count - 1);
      }
      const share = (count - 1) / count;
      const mean = share * sum;
      const next = mean + value / count;
      lost[step] = lostAfter(value / count, mean, next, share * (lost[step] as number));
      values[step] = next;
    }
  }
  return averagesOf(totals, isMean);
}

export function averagesOf(
  { counts, values, lost }: FloatTotals,
  isMean: Uint8Array | undefined,
): StepColumns {
  const averages = new Float64Array(values.length);
  for (let step = 0; step < averages.length; step += 1) {
    const divisor = isMean?.[step] === 1 ? 1 : (counts[step] as number);
    averages[step] = (values[step] as number) / divisor + (lost[step] as number) / divisor;
  }
  return { kinds: presentWhere(counts), values: averages, histograms: undefined };
}

/** NaN is replaced by any other value. */
function extremesOf(op: "min" | "max", members: readonly StepSeries[], steps: number): StepColumns {
  const kinds = new Uint8Array(steps);
  const values = new Float64Array(steps);
  const least = op === "min";
  for (const member of members) {
    for (let step = 0; step < steps; step += 1) {
      if (member.kinds[step] !== stepFloat) continue;
      const value = member.values[step] as number;
      const best = values[step] as number;
      const better = least ? value < best : value > best;
      if (kinds[step] === 0 || better || Number.isNaN(best)) values[step] = value;
      kinds[step] = stepFloat;
    }
  }
  return { kinds, values, histograms: undefined };
}

/** Also counts histograms. */
function countsOf(
  op: "count" | "group",
  members: readonly StepSeries[],
  steps: number,
): StepColumns {
  const counts = new Float64Array(steps);
  for (const { kinds } of members) {
    for (let step = 0; step < steps; step += 1) {
      if (kinds[step] !== 0) counts[step] = (counts[step] as number) + 1;
    }
  }
  const values = op === "count" ? counts : new Float64Array(steps).fill(1);
  return { kinds: presentWhere(counts), values, histograms: undefined };
}

/** Welford's algorithm: keeps a running mean and a running sum of squared distances. */
function deviationsOf(
  op: "stddev" | "stdvar",
  members: readonly StepSeries[],
  steps: number,
): StepColumns {
  const counts = new Float64Array(steps);
  const means = new Float64Array(steps);
  const squares = new Float64Array(steps);
  for (const { kinds, values } of members) {
    for (let step = 0; step < steps; step += 1) {
      if (kinds[step] !== stepFloat) continue;
      const value = values[step] as number;
      const count = (counts[step] as number) + 1;
      counts[step] = count;
      if (count === 1) {
        means[step] = value;
        squares[step] = Number.isFinite(value) ? 0 : Number.NaN;
        continue;
      }
      const delta = value - (means[step] as number);
      const mean = (means[step] as number) + delta / count;
      means[step] = mean;
      squares[step] = (squares[step] as number) + delta * (value - mean);
    }
  }
  const variances = squares.map((sum, step) => sum / (counts[step] as number));
  const values = op === "stdvar" ? variances : variances.map(Math.sqrt);
  return { kinds: presentWhere(counts), values, histograms: undefined };
}

/** `quantiles` has one value per step. */
export function quantilesOf(quantiles: Float64Array, members: readonly StepSeries[]): StepColumns {
  const steps = quantiles.length;
  const kinds = new Uint8Array(steps);
  const values = new Float64Array(steps);
  const found = new Float64Array(members.length);
  for (let step = 0; step < steps; step += 1) {
    let count = 0;
    for (const member of members) {
      if (member.kinds[step] !== stepFloat) continue;
      found[count] = member.values[step] as number;
      count += 1;
    }
    if (count === 0) continue;
    kinds[step] = stepFloat;
    values[step] = quantileOf(quantiles[step] as number, found.subarray(0, count));
  }
  return { kinds, values, histograms: undefined };
}
