/**
 * Delta merge: updates the aggregates of groups by adding new rows and subtracting removed ones,
 * without reading the groups. It is exact only for integers and decimals; other types are
 * recomputed (TI7). A group keeps its row count and the count of non-NULL arguments, because a sum
 * without values is NULL and a group without rows is removed.
 */
import { quoteName } from "../../../data/sql/core/index.ts";
import type { Analysed, Analysis } from "./analysis.ts";
import { componentsOfFrom } from "./from-components.ts";
import { isAggregate } from "./functions.ts";
import type { Block } from "./relation.ts";
import { definite } from "./restriction.ts";
import {
  columnReference,
  identityOf,
  listOf,
  rewriteTree,
  some,
  type Tree,
  textOf,
  textsOf,
  treeOf,
  walk,
} from "./syntax.ts";

export interface MergeState {
  readonly kind: "count" | "sum" | "min" | "max";
  /** An expression over the block's FROM. Undefined when rows are counted. */
  readonly argument: string | undefined;
  /** The column of the stored table. */
  readonly column: string;
  readonly type: string;
}

export interface MergePlan {
  /** The first state counts the group's rows. */
  readonly states: readonly MergeState[];
  /** Visible columns, in terms of `"_m"."k1"` … (keys) and `"_m"."c0"` … (states). */
  readonly items: readonly { readonly name: string; readonly sql: string }[];
  /** Whether it can be merged only while no rows are removed: minima and maxima (TI7). */
  readonly needsAppends: boolean;
}

interface Aggregate {
  readonly tree: Tree;
  readonly name: string;
  /** Undefined when rows are counted. */
  readonly argument: string | undefined;
  readonly type: string;
}

const integer = /^U?(TINYINT|SMALLINT|INTEGER|BIGINT)$/;
const decimal = /^DECIMAL\((\d+),\s*(\d+)\)$/;
const ordered =
  /^(U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DECIMAL\(.*\)|DATE|TIME|TIMESTAMP.*|VARCHAR|BOOLEAN|DOUBLE|FLOAT)$/;

export interface PlannedMerge {
  readonly merge: MergePlan;
  /** The block with the states among its hidden columns. */
  readonly block: Block;
}

export async function planMerge(
  { relation, grouped }: Analysed,
  analysis: Analysis,
): Promise<PlannedMerge | undefined> {
  if (relation.kind !== "block" || grouped === undefined || !grouped.isSettled) return undefined;
  if (relation.having !== undefined || relation.own === undefined) return undefined;
  const aggregates = await readAggregates(grouped.items, relation, analysis);
  if (aggregates === undefined) return undefined;

  const states = new StateList(relation, grouped.items, aggregates, analysis);
  const parts = new Map<string, Tree>();
  for (const aggregate of aggregates) {
    const parsed = await analysis.tool.parse(`SELECT ${states.valueOf(aggregate)}`);
    parts.set(identityOf(aggregate.tree), definite(listOf(parsed, "select_list")[0]));
  }
  for (const [index, key] of grouped.keys.entries()) {
    parts.set(identityOf(key), columnReference("_m", `k${index + 1}`));
  }
  const items: { name: string; sql: string }[] = [];
  for (const [index, item] of grouped.items.entries()) {
    const merged = rewriteTree(item, (tree) => parts.get(identityOf(tree)));
    // A column that is in no key and no aggregate is known only from the group's rows.
    const isForeign = (tree: Tree) =>
      tree.class === "COLUMN_REF" && textsOf(tree, "column_names")[0] !== "_m";
    if (some(merged, isForeign)) return undefined;
    const { name, type } = definite(relation.columns[index]);
    items.push({ name, sql: `CAST(${await analysis.write(merged)} AS ${type})` });
  }
  const needsAppends = states.list.some(({ kind }) => kind === "min" || kind === "max");
  const isMonotone = componentsOfFrom(relation.from).every(({ rowsOf }) => rowsOf !== undefined);
  if (needsAppends && !isMonotone) return undefined;
  return {
    merge: { states: states.list, items, needsAppends },
    block: { ...relation, hidden: [...relation.hidden, ...states.hidden] },
  };
}

/** Undefined when one of them cannot be merged. */
async function readAggregates(
  items: readonly Tree[],
  block: Block,
  analysis: Analysis,
): Promise<readonly Aggregate[] | undefined> {
  const trees = new Map<string, Tree>();
  walk(items, (tree) => {
    if (!isAggregate(tree, analysis.functions)) return true;
    trees.set(identityOf(tree), tree);
    return false;
  });
  const plain: Omit<Aggregate, "type">[] = [];
  for (const tree of trees.values()) {
    const name = textOf(tree, "function_name").toLowerCase();
    const isPlain =
      /^(count|count_star|sum|avg|mean|min|max)$/.test(name) &&
      tree.distinct !== true &&
      listOf(treeOf(tree, "order_bys") ?? {}, "orders").length === 0 &&
      listOf(tree, "children").length <= 1;
    if (!isPlain) return undefined;
    plain.push({ tree, name, argument: await argumentOf(tree, analysis) });
  }
  const types = await analysis.typesOf(
    plain.map(({ argument }) => argument ?? "1"),
    block.from,
  );
  const aggregates = plain.map((entry, index) => ({ ...entry, type: definite(types[index]) }));
  return aggregates.every(isMergeable) ? aggregates : undefined;
}

/** TI7 */
function isMergeable({ name, type }: Aggregate): boolean {
  const width = Number(decimal.exec(type)?.[1] ?? 0);
  // DuckDB divides wider sums with more digits than a DOUBLE has, and rounds once.
  if (/^(avg|mean)$/.test(name) && width > avgWidthMax) return false;
  if (/^(sum|avg|mean)$/.test(name)) return integer.test(type) || decimal.test(type);
  return /^(min|max)$/.test(name) ? ordered.test(type) : true;
}

async function argumentOf(tree: Tree, analysis: Analysis): Promise<string | undefined> {
  const [child] = listOf(tree, "children");
  const filter = treeOf(tree, "filter");
  const value = child === undefined ? undefined : await analysis.write(child);
  if (filter === undefined) return value;
  return `CASE WHEN ${await analysis.write(filter)} THEN ${value ?? "1"} END`;
}

/** The maximum width of a DECIMAL that fits into 64 bits. */
const avgWidthMax = 18;

/** How many digits a sum may have beyond those of its values. */
const sumDigits = 12;

/** The digits of a DECIMAL(38,scale) as a whole number. Multiplying may overflow. */
function unscaled(sum: string, width: number, scale: number): string {
  if (scale === 0) return sum;
  if (width + scale + sumDigits <= 38) return `${sum} * 1${"0".repeat(scale)}`;
  return `replace(CAST(${sum} AS VARCHAR), '.', '')`;
}

class StateList {
  readonly list: MergeState[] = [];
  readonly hidden: { name: string; sql: string }[] = [];
  readonly #block: Block;
  readonly #items: readonly Tree[];
  readonly #aggregates: readonly Aggregate[];
  readonly #analysis: Analysis;

  constructor(
    block: Block,
    items: readonly Tree[],
    aggregates: readonly Aggregate[],
    analysis: Analysis,
  ) {
    this.#block = block;
    this.#items = items;
    this.#aggregates = aggregates;
    this.#analysis = analysis;
    this.#state("count", undefined, "BIGINT");
  }

  /** The aggregate's value, computed from the states of a merged group. */
  valueOf({ name, argument, type }: Aggregate): string {
    if (name === "count" || name === "count_star") return this.#state("count", argument, "BIGINT");
    if (name === "min" || name === "max") return this.#state(name, argument, type);
    const [, width = "0", scale = "0"] = decimal.exec(type) ?? [];
    const count = this.#state("count", argument, "BIGINT");
    const sum = this.#state("sum", argument, `DECIMAL(38,${scale})`);
    if (name === "sum") {
      return `CASE WHEN ${count} > 0 THEN CAST(${sum} AS ${integer.test(type) ? "HUGEINT" : `DECIMAL(38,${scale})`}) END`;
    }
    // As DuckDB's avg does it: the unscaled sum as a DOUBLE, divided by the count times the scale.
    const unit = `1${"0".repeat(Number(scale))}`;
    const dividend = `CAST(CAST(${unscaled(sum, Number(width), Number(scale))} AS HUGEINT) AS DOUBLE)`;
    return `CASE WHEN ${count} > 0 THEN ${dividend} / CAST(${count} * ${unit} AS DOUBLE) END`;
  }

  #state(kind: MergeState["kind"], argument: string | undefined, type: string): string {
    let index = this.list.findIndex((state) => state.kind === kind && state.argument === argument);
    if (index === -1) {
      index = this.list.length;
      const column = this.#visible(kind, argument) ?? this.#hide(kind, argument, type);
      this.list.push({ kind, argument, column, type });
    }
    return `"_m".${quoteName(`c${index}`)}`;
  }

  /** A visible column that equals the state. Not for HUGEINT sums, which Parquet cannot store. */
  #visible(kind: MergeState["kind"], argument: string | undefined): string | undefined {
    const names = kind === "count" ? ["count", "count_star"] : [kind];
    const found = this.#aggregates.find(
      (aggregate) =>
        names.includes(aggregate.name) &&
        aggregate.argument === argument &&
        !(kind === "sum" && integer.test(aggregate.type)),
    );
    if (found === undefined) return undefined;
    const identity = identityOf(found.tree);
    const index = this.#items.findIndex((item) => identityOf(item) === identity);
    return this.#block.columns[index]?.name;
  }

  #hide(kind: MergeState["kind"], argument: string | undefined, type: string): string {
    const name = `_state_${this.#analysis.nextId()}`;
    const value = `${kind}(${argument ?? "*"})`;
    const sql = kind === "sum" ? `CAST(coalesce(${value}, 0) AS ${type})` : value;
    this.hidden.push({ name, sql });
    return name;
  }
}
