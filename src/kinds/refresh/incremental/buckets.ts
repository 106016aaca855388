/**
 * Splits a definition's rows into buckets by ranges of a hash (TP1, TP2). A row is hashed by
 * columns of one of its components (`relation.ts`). A bucket is a condition on the whole query, so
 * it is correct for every query. It saves work only if DuckDB pushes the condition down to a
 * source; otherwise there are no buckets.
 *
 * Every row is in exactly one bucket: NULL has a hash, equal values have equal hashes, and the
 * ranges have no gaps. The columns have settled values (TI11), so all workers see the same ones.
 */

import { quoteName } from "../../../data/sql/core/index.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import { choosableLeaves, componentsOfFrom } from "./from-components.ts";
import type { FullPlan, IncrementalPlan } from "./plan.ts";
import { initialSql, type RefreshNames } from "./refresh-sql.ts";
import { type Block, type Leaf, leavesOf, type Relation, type Value } from "./relation.ts";

export type Bucketing =
  | { readonly kind: "buckets"; readonly columns: readonly string[] }
  | { readonly kind: "whole"; readonly reason: string };

/** Chooses the columns that split the largest source whose rows they can choose. */
export function decideBuckets(
  plan: IncrementalPlan | FullPlan,
  rowCounts: readonly number[],
): Bucketing {
  if (plan.kind === "full") return { kind: "whole", reason: plan.reason };
  const columns = bucketColumns(plan.relation, rowCounts);
  if (columns.length > 0) return { kind: "buckets", columns };
  return { kind: "whole", reason: "no source's rows can be chosen by what its rows are known by" };
}

/** A SELECT of all columns of the plan, for one of `buckets` buckets. `bucket` starts at 0. */
export function bucketSql(
  plan: IncrementalPlan,
  names: Pick<RefreshNames, "source">,
  columns: readonly string[],
  bucket: number,
  buckets: number,
): string {
  assert(bucket >= 0 && bucket < buckets, "a bucket is one of them");
  const values = columns.map((column) => `"_k".${quoteName(column)}`).join(", ");
  // A range, not a remainder: DuckDB does not push down conditions that may fail, such as a
  // division.
  const [first, last] = [edge(bucket, buckets), edge(bucket + 1, buckets) - 1n];
  const range = `BETWEEN CAST(${first} AS UBIGINT) AND CAST(${last} AS UBIGINT)`;
  return `SELECT * FROM (${initialSql(plan, names)}) AS "_k" WHERE hash(${values}) ${range}`;
}

/** The first hash of a bucket, of the 64-bit hashes. */
function edge(bucket: number, buckets: number): bigint {
  return (BigInt(bucket) << 64n) / BigInt(buckets);
}

function bucketColumns(relation: Relation, rowCounts: readonly number[]): readonly string[] {
  if (relation.kind === "set" && relation.branchColumn !== undefined) {
    const chosen = relation.branches.map((_, branch) => {
      const own = relation.components.filter(({ guards }) =>
        guards.some((guard) => guard.column === relation.branchColumn && guard.branch === branch),
      );
      return largest(
        relation,
        own.map(({ columns }) => columns),
        rowCounts,
      );
    });
    // A branch without such columns would be computed whole for every bucket.
    return chosen.some((columns) => columns.length === 0) ? [] : [...new Set(chosen.flat())];
  }
  return largest(
    relation,
    relation.components.map(({ columns }) => columns),
    rowCounts,
  );
}

/** Columns of one component that choose rows of the largest source. Some of a key are enough. */
function largest(
  relation: Relation,
  candidates: readonly (readonly string[])[],
  rowCounts: readonly number[],
): readonly string[] {
  let best: readonly string[] = [];
  let most = -1;
  for (const columns of candidates) {
    const sources = columns.map((column) => sourceOf(relation, column));
    for (const source of new Set(sources)) {
      if (source === undefined || (rowCounts[source] ?? 0) <= most) continue;
      most = rowCounts[source] ?? 0;
      best = columns.filter((_, index) => sources[index] === source);
    }
  }
  return best;
}

/** The source whose rows a condition on this column chooses; undefined without one. */
function sourceOf(relation: Relation, column: string): number | undefined {
  if (relation.kind === "block") return sourceInBlock(relation, column);
  const hidden = relation.hidden.find(({ name }) => name === column);
  if (hidden !== undefined) {
    const branch = relation.branches[hidden.branch];
    return branch === undefined ? undefined : sourceOf(branch, hidden.column);
  }
  const index = relation.columns.findIndex(({ name }) => name === column);
  const sources = relation.branches.map((branch) => {
    const own = branch.columns[index];
    return own === undefined ? undefined : sourceOf(branch, own.name);
  });
  return sources.includes(undefined) ? undefined : sources[0];
}

function sourceInBlock(block: Block, column: string): number | undefined {
  if (block.from === undefined) return undefined;
  const value = valueOfColumn(block, column);
  if (value?.leaf === undefined || !choosableLeaves(block.from).has(value.leaf)) return undefined;
  const leaf = leavesOf(block.from).find((each) => each.leaf === value.leaf);
  return leaf === undefined ? undefined : sourceOfLeaf(leaf, value);
}

function valueOfColumn({ items, hidden, own, from }: Block, column: string): Value | undefined {
  const item = items.find(({ name }) => name === column);
  if (item !== undefined) return item.isRowKey ? item.value : undefined;
  const sql = hidden.find(({ name }) => name === column)?.sql;
  const inner = componentsOfFrom(from).flatMap(({ values }) => values);
  return (own?.keys ?? inner).find((value) => value.sql === sql);
}

function sourceOfLeaf(leaf: Leaf, { column }: Value): number | undefined {
  switch (leaf.kind) {
    case "fixed":
      return undefined;
    case "source":
      return leaf.source;
    case "relation": {
      if (column === undefined) return undefined;
      const inside = leaf.columns.find(({ as }) => as === column)?.name ?? column;
      return sourceOf(leaf.relation, inside);
    }
  }
}
