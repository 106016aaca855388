/** Whether a full refresh is computed in parts, and in how many. Pure. */
import type { Bucketing } from "../incremental/index.ts";

export interface SplitLimits {
  /** Sources with fewer rows, together, are not worth the while. A part has about as many. */
  readonly rowsMin: number;
  /** Every part reads the sources: the more there are, the more it costs. */
  readonly partsMax: number;
}

export const splitLimitsDefault: SplitLimits = { rowsMin: 5_000_000, partsMax: 16 };

export type SplitDecision =
  | { readonly kind: "split"; readonly columns: readonly string[]; readonly parts: number }
  | { readonly kind: "whole"; readonly reason: string };

export function decideSplit(
  bucketing: Bucketing,
  totalRows: number,
  { rowsMin, partsMax }: SplitLimits,
): SplitDecision {
  if (totalRows < rowsMin) return { kind: "whole", reason: "its sources are small" };
  if (bucketing.kind === "whole") return bucketing;
  // However few workers there are: parts are what autoscalers see, and those that come for them
  // find something to do. 16 parts cost twice what one does, by one core.
  const parts = Math.min(Math.max(2, Math.floor(totalRows / rowsMin)), partsMax);
  return { kind: "split", columns: bucketing.columns, parts };
}
