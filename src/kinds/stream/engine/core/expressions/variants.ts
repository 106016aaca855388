/**
 * The loops of one expression. Which one a batch needs depends on whether it has a selection and on
 * which of its columns have NULLs; each is compiled when the first such batch comes.
 */
import type { Expr } from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
import type { Variant } from "./source.ts";

export class VariantCache<Compiled> {
  readonly #columns: readonly number[];
  readonly #compile: (variant: Variant) => Compiled;
  readonly #compiled = new Map<string, Compiled>();
  #last: Compiled | undefined;
  #lastKey = "";

  constructor(columns: readonly number[], compile: (variant: Variant) => Compiled) {
    this.#columns = columns;
    this.#compile = compile;
  }

  find(batch: Batch): Compiled {
    const key = this.#keyOf(batch);
    if (this.#last !== undefined && key === this.#lastKey) return this.#last;
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      const withNulls = new Set(
        this.#columns.filter((column) => batch.columns[column]?.validity !== undefined),
      );
      compiled = this.#compile({
        selected: batch.selection !== undefined,
        hasNulls: (column) => withNulls.has(column),
      });
      this.#compiled.set(key, compiled);
    }
    this.#last = compiled;
    this.#lastKey = key;
    return compiled;
  }

  #keyOf(batch: Batch): string {
    let key = batch.selection === undefined ? "a" : "s";
    for (const column of this.#columns) {
      key += batch.columns[column]?.validity === undefined ? "0" : "1";
    }
    return key;
  }
}

/** The columns that an expression reads, each once, ascending. */
export function columnsOf(expr: Expr): readonly number[] {
  const found = new Set<number>();
  collect(expr, found);
  return [...found].sort((a, b) => a - b);
}

function collect(expr: Expr, found: Set<number>): void {
  switch (expr.kind) {
    case "column":
      found.add(expr.index);
      return;
    case "literal":
      return;
    case "cast":
      collect(expr.arg, found);
      return;
    case "call":
      for (const arg of expr.args) collect(arg, found);
      return;
    case "case":
      for (const { when, then } of expr.branches) {
        collect(when, found);
        collect(then, found);
      }
      if (expr.otherwise !== undefined) collect(expr.otherwise, found);
  }
}
