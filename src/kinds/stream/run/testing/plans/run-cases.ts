/**
 * Many cases by fast-check, which with `shrinks` makes the first that fails as small as it can;
 * counts what they were made of.
 */
import fc from "fast-check";
import { checkCase, describeCase } from "./check-case.ts";

export interface CasesResult {
  readonly cases: number;
  readonly counts: Readonly<Record<string, number>>;
  /** The smallest case that fails, with what it takes to repeat it. */
  readonly failure: string | undefined;
}

const tapeArb = fc.array(fc.nat(1_048_575), { minLength: 0, maxLength: 900, size: "max" });

/** Shrinking ends then: a case that is not the smallest is better than none. */
const shrinkMsMax = 120_000;

export function runCases(seed: number, cases: number, shrinks = true): CasesResult {
  const counts: Record<string, number> = {};
  let done = 0;
  let hasFailed = false;
  const property = fc.property(tapeArb, (tape) => {
    const checked = checkCase(tape);
    if (checked.difference !== undefined) hasFailed = true;
    if (!hasFailed) {
      done += 1;
      if (checked.rowCount > 0) add(counts, "cases with rows");
      for (const what of new Set(checked.plan.counts)) add(counts, what);
    }
    return checked.difference === undefined;
  });
  let details = fc.check(property, { seed, numRuns: cases, endOnFailure: true });
  if (shrinks && details.counterexamplePath !== null) {
    const path = details.counterexamplePath;
    const limit = { interruptAfterTimeLimit: shrinkMsMax, markInterruptAsFailure: false };
    const shrunk = fc.check(property, { seed, path, numRuns: cases, ...limit });
    if (shrunk.counterexample !== null) details = shrunk;
  }
  const tape = details.counterexample?.[0];
  const failure =
    tape === undefined || tape === null
      ? undefined
      : `seed ${seed}, path ${details.counterexamplePath}\n${describeCase(checkCase(tape))}`;
  return { cases: done, counts, failure };
}

function add(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

/** What a run of some hundred cases must have met. */
export const operators: readonly string[] = [
  ...["filter", "project", "union", "tumbling", "sliding", "sliding with gaps", "session"],
  ...["event time", "ingestion time", "stacked window", "HAVING", "FILTER"],
  ...["COUNT(*)", "COUNT", "SUM", "MIN", "MAX", "AVG", "MEDIAN", "STDDEV", "VAR", "STDDEV_POP"],
  ...["VAR_POP", "FIRST", "LAST", "COUNT(DISTINCT)", "SUM(DISTINCT)"],
  ...["INNER join", "LEFT join", "RIGHT join", "FULL join", "join by any predicate"],
  ...["join with a window with keys", "join with a window without keys"],
  ...["interval join", "lookup join", "LEFT lookup join", "LAG", "LAST_VALUE", "dedupe"],
  ...["STATE TTL", "top-N of rows", "top-N of a window", "sub", "with", "view"],
  ...["within the bound", "beyond the bound", "several files of a source"],
  ...["times on a grid", "small buffers"],
  ...["restart", "restart, parted", "one fragment", "several fragments"],
  ...["CSV in", "JSON in", "CSV out", "JSON out", "cases with rows"],
];
