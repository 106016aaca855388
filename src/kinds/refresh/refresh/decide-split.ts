/** Decides whether a full refresh is computed in parts, and in how many (TP10). Pure. */
import type { Bucketing } from "../incremental/index.ts";

export interface SplitLimits {
  /** The minimum number of rows of all sources for a split, and the approximate rows per part. */
  readonly rowsMin: number;
  /** Every part reads the sources, so each further part adds cost. */
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
  // Independent of the number of workers: autoscalers see the parts, and workers that they start
  // find work. 16 parts cost twice the core time of one.
  const parts = Math.min(Math.max(2, Math.floor(totalRows / rowsMin)), partsMax);
  return { kind: "split", columns: bucketing.columns, parts };
}
