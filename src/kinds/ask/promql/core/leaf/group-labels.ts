/** The labels that a series shares with its group. */
import { type Labels, metricNameLabel } from "../labels.ts";

/** Returns the labels of a series' group. Unless `without`, only `grouping` is kept. */
export function makeGrouper(
  grouping: readonly string[],
  without: boolean,
): (labels: Labels) => Labels {
  const names = new Set(grouping);
  if (!without) return (labels) => labels.keep(names);
  // The name is removed, too.
  names.add(metricNameLabel);
  return (labels) => labels.without(names);
}

/** For a single series; `makeGrouper` is for many. */
export function groupLabels(labels: Labels, grouping: readonly string[], without: boolean): Labels {
  return makeGrouper(grouping, without)(labels);
}
