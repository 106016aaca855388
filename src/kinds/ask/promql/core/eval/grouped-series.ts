/** A vector's series by the group that an aggregation puts them into. */
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

/** In the order in which a series of each comes first. */
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

/** A group's name goes when that of any of its members does. */
export function anyDropsName(members: readonly StepSeries[]): boolean {
  return members.some(({ dropName }) => dropName);
}
