/** The result of a search for the maximum, and its certainty. */
import type { RunSummary } from "../../../api/gen/types.ts";
import { plural } from "../../../format.ts";

export function searchAnswer(result: NonNullable<RunSummary["find_max"]>): string {
  const { max_concurrency: found, true_max: isTrue, low = null, high = null } = result;
  if (isTrue) return `${plural(found, "connection")}, confirmed`;
  if (low === null || low === high) return `${plural(found, "connection")}, not confirmed`;
  if (high === null) return `At least ${plural(low, "connection")}`;
  return `Between ${low} and ${plural(high, "connection")}`;
}
