/**
 * Restricts the rows of a FROM to those whose values are in a set: on the leaf that has the values
 * where the joins allow it, otherwise on the joined rows. Sets are compared with semi-joins.
 */

import { quoteName } from "../../../data/sql/core/index.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import { choosableLeaves } from "./from-components.ts";
import type { From, Value } from "./relation.ts";

export type Image = "new" | "old";

/** A table of values, as text for a FROM. */
export interface ValueSet {
  readonly table: string;
  readonly columns: readonly string[];
}

export interface Rendering {
  /** A source's rows: all of an image, or only those that changed. */
  source(source: number, rows: Image | "added" | "removed"): string;
  set(id: number, image: Image): ValueSet;
  /** `=` only for the planted error with NULL keys (TI2). */
  readonly comparison: "IS NOT DISTINCT FROM" | "=";
}

/** Rows to leave out because a later piece of the same result has them. */
export interface Exclusion {
  readonly values: readonly Value[];
  readonly guards: readonly { readonly sql: string; readonly branch: number }[];
  readonly set: ValueSet;
}

export interface LeafFilter {
  readonly values: readonly Value[];
  readonly set: ValueSet;
}

/** Extra conditions on the rows of one FROM. */
export class Restriction {
  readonly leaves = new Map<string, LeafFilter[]>();
  readonly joins: string[] = [];
  readonly conditions: string[] = [];
  readonly #choosable: ReadonlySet<string>;
  readonly #rendering: Rendering;

  constructor(from: From | undefined, rendering: Rendering) {
    this.#choosable = choosableLeaves(from);
    this.#rendering = rendering;
  }

  /** Keeps exactly the rows whose values are in the set. */
  require(values: readonly Value[], set: ValueSet): void {
    if (values.length === 0) {
      this.conditions.push(`EXISTS (SELECT 1 FROM ${set.table})`);
      return;
    }
    const complete = this.narrow(values, set, this.#choosable);
    if (complete) return;
    this.joins.push(semiJoin({ values, set }, `_s${this.joins.length + 1}`, this.#rendering));
  }

  /** Filters leaves without losing needed rows. True when that is the whole condition. */
  narrow(values: readonly Value[], set: ValueSet, leaves: ReadonlySet<string>): boolean {
    let complete = false;
    for (const leaf of leaves) {
      const indices = values.flatMap((value, index) => (value.leaf === leaf ? [index] : []));
      if (indices.length === 0) continue;
      const filter = {
        values: indices.map((index) => definite(values[index])),
        set: { ...set, columns: indices.map((index) => definite(set.columns[index])) },
      };
      this.leaves.set(leaf, [...(this.leaves.get(leaf) ?? []), filter]);
      complete ||= indices.length === values.length;
    }
    return complete;
  }
}

export function semiJoin({ values, set }: LeafFilter, alias: string, rendering: Rendering): string {
  return `SEMI JOIN ${set.table} AS ${quoteName(alias)} ON (${match(values, set, alias, rendering)})`;
}

export function antiJoin(
  { values, guards, set }: Exclusion,
  alias: string,
  rendering: Rendering,
): string {
  const conditions = guards.map(({ sql, branch }) => `${sql} = ${branch}`);
  if (values.length > 0) conditions.push(match(values, set, alias, rendering));
  return `ANTI JOIN ${set.table} AS ${quoteName(alias)} ON (${conditions.length === 0 ? "true" : conditions.join(" AND ")})`;
}

export function match(
  values: readonly Pick<Value, "sql">[],
  set: ValueSet,
  alias: string,
  { comparison }: Pick<Rendering, "comparison">,
): string {
  assert(values.length === set.columns.length, "a set has a column per value");
  return values
    .map(({ sql }, index) => {
      const column = quoteName(definite(set.columns[index]));
      return `${quoteName(alias)}.${column} ${comparison} ${sql}`; // NULL is a key too.
    })
    .join(" AND ");
}

export function definite<Value>(value: Value | undefined): Value {
  assert(value !== undefined, "it is there");
  return value;
}
