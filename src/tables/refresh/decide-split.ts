/** Whether a full refresh is computed in parts, and in how many. Pure. */
import type { Bucketing } from "../incremental/index.ts";

export interface SplitLimits {
  /** Sources with fewer rows, together, are not worth the while. */
  readonly rowsMin: number;
  /** Every part reads the sources: more of them than workers only cost. */
  readonly partsMax: number;
}

export const splitLimitsDefault: SplitLimits = { rowsMin: 5_000_000, partsMax: 16 };

export type SplitDecision =
  | { readonly kind: "split"; readonly columns: readonly string[]; readonly parts: number }
  | { readonly kind: "whole"; readonly reason: string };

export function decideSplit(
  bucketing: Bucketing,
  facts: { readonly totalRows: number; readonly workerCount: number },
  { rowsMin, partsMax }: SplitLimits,
): SplitDecision {
  if (facts.totalRows < rowsMin) return { kind: "whole", reason: "its sources are small" };
  if (facts.workerCount < 2) return { kind: "whole", reason: "there is no other worker" };
  if (bucketing.kind === "whole") return bucketing;
  const parts = Math.min(facts.workerCount, partsMax);
  return { kind: "split", columns: bucketing.columns, parts };
}
