/** The series of a vector by their group in an aggregation. */
import type { Labels } from "../labels.ts";
import { makeGrouper } from "../leaf/group-labels.ts";
import type { StepSeries } from "../model.ts";

export interface SeriesGroup {
  readonly labels: Labels;
  /** In the order of the vector. */
  readonly members: StepSeries[];
}

export interface Grouping {
  readonly names: readonly string[];
  readonly without: boolean;
}

/** Groups are in order of first appearance. */
export function groupSeries(
  series: readonly StepSeries[],
  { names, without }: Grouping,
): readonly SeriesGroup[] {
  const groups = new Map<string, SeriesGroup>();
  const groupOf = makeGrouper(names, without);
  for (const one of series) {
    const labels = groupOf(one.labels);
    const known = groups.get(labels.key);
    if (known === undefined) groups.set(labels.key, { labels, members: [one] });
    else known.members.push(one);
  }
  return [...groups.values()];
}

/** A group's name is dropped when that of any member is. */
export function anyDropsName(members: readonly StepSeries[]): boolean {
  return members.some(({ dropName }) => dropName);
}
