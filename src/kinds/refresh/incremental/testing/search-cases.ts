/** Runs many cases, two at a time, until one fails. */
import type { PlantedError } from "../refresh-sql.ts";
import { type Case, randomCase } from "./random-case.ts";
import { type CaseResult, openTestDatabase, printCase, runCase, shrinkCase } from "./run-case.ts";

export interface Search {
  /** The prefix of all seeds. */
  readonly name: string;
  readonly from: number;
  /** How many cases to refresh incrementally. Cases that planning refuses are not counted. */
  readonly casesMax: number;
  readonly planted?: PlantedError;
}

export interface Found {
  readonly counted: number;
  readonly refused: number;
  /** Counts by strategy and way, such as `merge/keys`. */
  readonly coverage: ReadonlyMap<string, number>;
  /** A failing case as text, shrunk unless the error was planted. */
  readonly failure: string | undefined;
}

export async function searchCases(search: Search): Promise<Found> {
  const coverage = new Map<string, number>();
  let next = search.from;
  let counted = 0;
  let refused = 0;
  let failure: string | undefined;

  const count = ({ strategy, ways }: CaseResult): void => {
    counted += 1;
    for (const way of new Set(ways)) {
      const key = `${strategy}/${way}`;
      coverage.set(key, (coverage.get(key) ?? 0) + 1);
    }
  };
  const lane = async (): Promise<void> => {
    const database = await openTestDatabase();
    const fail = async (tested: Case, note: string): Promise<void> => {
      // A case with a planted error is not shrunk.
      const small = search.planted === undefined ? await shrinkCase(tested, database) : tested;
      failure ??= `${printCase(small)}\n${note}`;
    };
    try {
      while (failure === undefined && counted < search.casesMax) {
        const tested = randomCase(`${search.name}-${next}`);
        next += 1;
        const result = await runCase(tested, database, search.planted);
        if (result.kind === "full") refused += 1;
        else count(result);
        if (result.kind === "different") await fail(tested, result.note);
      }
    } finally {
      database.close();
    }
  };
  await Promise.all([lane(), lane()]);
  return { counted, refused, coverage, failure };
}
