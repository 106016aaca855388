/** What of its labels a series shares with its group. */
import { type Labels, metricNameLabel } from "../labels.ts";

/** The labels of the group that each series belongs to. Without `without`, only the grouping's own are kept. */
export function makeGrouper(
  grouping: readonly string[],
  without: boolean,
): (labels: Labels) => Labels {
  const names = new Set(grouping);
  if (!without) return (labels) => labels.keep(names);
  // The name is of the series, and a group has many.
  names.add(metricNameLabel);
  return (labels) => labels.without(names);
}

/** For a single series; `makeGrouper` serves many. */
export function groupLabels(labels: Labels, grouping: readonly string[], without: boolean): Labels {
  return makeGrouper(grouping, without)(labels);
}
