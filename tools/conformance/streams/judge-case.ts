/** Compares what a case's query gave with what its script expects. */
import { compareRows } from "./compare-rows.ts";
import type { StreamCase } from "./parse-script.ts";

export type CaseOutcome =
  | {
      /** Absent when the sink keeps nothing, as a Void sink does. */
      readonly rows: readonly string[] | undefined;
      readonly columnCount: number;
    }
  | { readonly error: number; readonly message: string };

/** Why the case failed; `undefined` when it passed. */
export async function judgeCase(
  { query, expected }: StreamCase,
  run: (text: string) => Promise<CaseOutcome>,
): Promise<string | undefined> {
  const outcome = await run(query);
  if (expected.kind === "error") {
    if (!("error" in outcome)) return `error ${expected.number} expected, and it ran`;
    return outcome.error === expected.number
      ? undefined
      : `error ${expected.number} expected, it was ${outcome.error}: ${outcome.message}`;
  }
  if ("error" in outcome) return `error ${outcome.error}: ${outcome.message}`;
  const { rows, columnCount } = outcome;
  if (expected.kind === "rows") {
    return rows === undefined ? undefined : compareRows(expected.rows, rows, columnCount);
  }
  const other = await run(expected.query);
  if ("error" in other) return `the second query: error ${other.error}: ${other.message}`;
  return rows === undefined ? undefined : compareRows(other.rows ?? [], rows, columnCount);
}
