/** A random case: schemas, a definition, and the sources' rows at the start and at each refresh. */
import { createPrng, type Prng } from "../../../../ground/kernel/prng.ts";
import type { SourceSchema } from "../inline.ts";
import { chance, pick, QueryGenerator, randomLiteral, randomSchemas } from "./random-query.ts";

/** A row whose values are SQL literals. */
export interface Row {
  readonly id: number;
  readonly values: readonly string[];
}

/** Rows by source. */
export type State = readonly (readonly Row[])[];

export interface Case {
  readonly seed: string;
  readonly sources: readonly SourceSchema[];
  readonly definition: string;
  /** The first state is the one that the initial refresh sees. */
  readonly states: readonly State[];
}

export function randomCase(seed: string): Case {
  const prng = createPrng(seed);
  const sources = randomSchemas(prng);
  const definition = new QueryGenerator(prng, sources).definition();
  let nextId = 0;
  const newRow = (source: SourceSchema): Row => {
    nextId += 1;
    return { id: nextId, values: source.columns.map(({ type }) => randomLiteral(prng, type)) };
  };
  const rowsMax = pick(prng, [4, 9, 16]);
  let state: State = sources.map((source) =>
    Array.from({ length: prng.below(rowsMax) }, () => newRow(source)),
  );
  const states = [state];
  for (let step = pick(prng, [1, 1, 2, 3]); step > 0; step -= 1) {
    const isAppend = chance(prng, 30);
    state = state.map((rows, index) => {
      const source = sources[index];
      if (source === undefined || chance(prng, 30)) return rows;
      return changeRows(prng, rows, source, isAppend, newRow);
    });
    states.push(state);
  }
  return { seed, sources, definition, states };
}

function changeRows(
  prng: Prng,
  rows: readonly Row[],
  source: SourceSchema,
  isAppend: boolean,
  newRow: (source: SourceSchema) => Row,
): readonly Row[] {
  const added = Array.from({ length: prng.below(4) }, () => newRow(source));
  if (isAppend) return [...rows, ...added];
  const gone = pick(prng, [0, 10, 40, 100]);
  const changed = pick(prng, [0, 15, 50]);
  const kept = rows
    .filter(() => !chance(prng, gone))
    .map((row) =>
      chance(prng, changed)
        ? {
            id: row.id,
            values: row.values.map((value, index) =>
              chance(prng, 50) ? value : randomLiteral(prng, source.columns[index]?.type ?? ""),
            ),
          }
        : row,
    );
  return [...kept, ...added];
}
