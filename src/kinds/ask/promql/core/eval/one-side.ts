/**
 * The "one" side of a vector operation, where every match group has at most one sample at a step. A
 * group of several series is combined into one set of columns, with the index of the series that
 * each step came from.
 */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type StepSeries, stepAbsent } from "../model.ts";
import type { StepColumns } from "./step-columns.ts";

export interface OneSideGroup extends StepColumns {
  /** The series of the group, as indexes of the side. */
  readonly members: readonly number[];
  /** The member of each step's sample, or -1. Undefined when there is one member. */
  readonly owners: Int32Array | undefined;
}

/** Called for a second sample of a group at a step. */
export type OnDuplicate = (step: number, first: number, second: number) => void;

export function oneSideGroup(
  side: readonly StepSeries[],
  members: readonly number[],
  onDuplicate: OnDuplicate,
): OneSideGroup {
  const [only] = members;
  const first = side[only as number] as StepSeries;
  if (members.length === 1) {
    const { kinds, values, histograms } = first;
    return { kinds, values, histograms, members, owners: undefined };
  }
  const steps = first.kinds.length;
  const kinds = new Uint8Array(steps);
  const values = new Float64Array(steps);
  const owners = new Int32Array(steps).fill(-1);
  const withHistograms = members.some((index) => side[index]?.histograms !== undefined);
  const histograms = withHistograms
    ? new Array<FloatHistogram | undefined>(steps).fill(undefined)
    : undefined;
  for (const index of members) {
    const series = side[index] as StepSeries;
    for (let step = 0; step < steps; step += 1) {
      const kind = series.kinds[step] as number;
      if (kind === stepAbsent) continue;
      if (kinds[step] !== stepAbsent) onDuplicate(step, owners[step] as number, index);
      kinds[step] = kind;
      values[step] = series.values[step] as number;
      if (histograms !== undefined) histograms[step] = series.histograms?.[step];
      owners[step] = index;
    }
  }
  return { kinds, values, histograms, members, owners };
}

/** Adds a fill value at every step without a sample. */
export function filled(group: OneSideGroup, fill: number): OneSideGroup {
  const kinds = group.kinds.slice();
  const values = group.values.slice();
  const owners = group.owners ?? new Int32Array(kinds.length).fill(group.members[0] as number);
  const filledOwners = owners.slice();
  for (let step = 0; step < kinds.length; step += 1) {
    if (kinds[step] !== stepAbsent) continue;
    kinds[step] = 1;
    values[step] = fill;
    filledOwners[step] = -1;
  }
  return { ...group, kinds, values, owners: filledOwners };
}

/** A group without a series: the fill value everywhere. */
export function onlyFill(steps: number, fill: number): OneSideGroup {
  return {
    kinds: new Uint8Array(steps).fill(1),
    values: new Float64Array(steps).fill(fill),
    histograms: undefined,
    members: [],
    owners: undefined,
  };
}
