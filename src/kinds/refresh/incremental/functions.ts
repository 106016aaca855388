/**
 * Classifies what a function's value depends on. A refresh evaluates a query again on the old rows
 * of its sources, which is sound only if the same rows give the same values.
 *
 * A function whose value changes with time or on each call makes a definition FULL (TI4). So does
 * COLLATE: rows of one key can then have different values, while keys are compared without the
 * collation. *Unsettled* values are those that SQL leaves open for the same rows (TI11): which of
 * several rows comes first (choice), or how a floating-point sum is rounded (rounding).
 */

import type { FunctionCatalog } from "./sql-tool.ts";
import {
  identityOf,
  listOf,
  NotIncremental,
  type Tree,
  textOf,
  textsOf,
  treeOf,
  walk,
} from "./syntax.ts";

export interface Open {
  readonly kind: "choice" | "rounding";
  readonly reason: string;
}

export interface Unsettled {
  /** Set when the set of rows itself is unsettled. */
  readonly rows: Open | undefined;
  /** Unsettled columns by name. */
  readonly columns: ReadonlyMap<string, Open>;
}

export const settled: Unsettled = { rows: undefined, columns: new Map() };

/** Macros that are plain expressions of their arguments. */
const plainMacros =
  /^(nullif|split_part|fmod|fdiv|round_even|roundbankers|date_add|days_in_month|list_.*|array_.*|map_contains_.*|md5_number_.*|json)$/;
const exactAggregates = new Set(
  (
    "count count_star min max bool_and bool_or bit_and bit_or bit_xor count_if countif median quantile quantile_cont " +
    "quantile_disc approx_count_distinct histogram histogram_exact regr_count mad bitstring_agg"
  ).split(" "),
);
const sums = new Set(["sum", "avg", "mean", "sum_no_overflow"]);
const roundingAggregates =
  /^(stddev.*|var.*|covar.*|corr|regr_.*|skewness|kurtosis.*|sem|product|entropy|fsum|favg|sumkahan|kahan_sum)$/;
const exactWindows = new Set(["rank", "dense_rank", "rank_dense", "percent_rank", "cume_dist"]);

const orderedLists = /^(list|array_agg|string_agg|group_concat|listagg)$/;

/** Whether a list is ordered by its own argument, so that rows in either order are equal. */
function isOrderedByItself(tree: Tree): boolean {
  const orders = listOf(treeOf(tree, "order_bys") ?? {}, "orders");
  const [argument] = listOf(tree, "children");
  if (argument === undefined) return false;
  return orders.some((order) => {
    const expression = treeOf(order, "expression");
    return expression !== undefined && identityOf(expression) === identityOf(argument);
  });
}

/** Throws for every function or COLLATE that makes the definition FULL (TI4). */
export function checkFunctions(expression: unknown, catalog: FunctionCatalog): void {
  walk(expression, (tree) => {
    if (tree.class === "COLLATE") {
      throw new NotIncremental("COLLATE makes different values equal");
    }
    if (tree.class !== "FUNCTION" && tree.class !== "WINDOW") return true;
    if (isAge(tree)) throw new NotIncremental("age() of one time is counted from today");
    const name = textOf(tree, "function_name").toLowerCase();
    if (catalog.volatile.has(name)) {
      throw new NotIncremental(`${name}() may have another value at every refresh`);
    }
    if (catalog.macros.has(name) && !catalog.aggregates.has(name) && !plainMacros.test(name)) {
      throw new NotIncremental(`the macro ${name}() is not followed`);
    }
    return true;
  });
}

/** `age` with one argument depends on today's date, although DuckDB calls it consistent. */
function isAge(tree: Tree): boolean {
  return (
    textOf(tree, "function_name").toLowerCase() === "age" && listOf(tree, "children").length === 1
  );
}

export function isAggregate(tree: Tree, catalog: FunctionCatalog): boolean {
  return (
    tree.class === "FUNCTION" && catalog.aggregates.has(textOf(tree, "function_name").toLowerCase())
  );
}

/** Arguments of sums in the expression. Their types decide whether the sums are exact. */
export function sumArguments(expression: unknown): readonly Tree[] {
  const found: Tree[] = [];
  walk(expression, (tree) => {
    const isCall = tree.class === "FUNCTION" || tree.class === "WINDOW";
    if (isCall && sums.has(textOf(tree, "function_name").toLowerCase())) {
      const [argument] = Array.isArray(tree.children) ? (tree.children as Tree[]) : [];
      if (argument !== undefined) found.push(argument);
    }
    return true;
  });
  return found;
}

/** The most unsettled part of an expression: its own functions, or a column that it reads. */
export function opennessOf(
  expression: unknown,
  catalog: FunctionCatalog,
  isExact: (argument: Tree) => boolean,
  columnOpenness: (leaf: string, column: string) => Open | undefined,
): Open | undefined {
  let open: Open | undefined;
  const add = (found: Open | undefined): void => {
    if (open === undefined || found?.kind === "choice") open = found ?? open;
  };
  walk(expression, (tree) => {
    if (tree.class === "COLUMN_REF") {
      const [leaf, column] = textsOf(tree, "column_names");
      if (leaf !== undefined && column !== undefined) add(columnOpenness(leaf, column));
    } else if (textOf(tree, "function_name") === "list_sort") {
      // DuckDB's form of list(x ORDER BY x), whose result does not depend on the input order.
      const [list] = listOf(tree, "children");
      if (list === undefined || textOf(list, "function_name") !== "list") return true;
      add(opennessOf(list.children, catalog, isExact, columnOpenness));
      return false;
    } else if (tree.class === "WINDOW") {
      add(opennessOfWindow(tree, isExact));
    } else if (isAggregate(tree, catalog)) {
      add(opennessOfAggregate(tree, isExact));
    }
    return true;
  });
  return open;
}

function opennessOfAggregate(tree: Tree, isExact: (argument: Tree) => boolean): Open | undefined {
  const name = textOf(tree, "function_name").toLowerCase();
  if (exactAggregates.has(name)) return undefined;
  const rounding: Open = {
    kind: "rounding",
    reason: `${name}() of floating-point numbers may be rounded otherwise each time`,
  };
  if (sums.has(name)) return sumArguments(tree).slice(0, 1).every(isExact) ? undefined : rounding;
  if (roundingAggregates.test(name)) return rounding;
  if (orderedLists.test(name) && isOrderedByItself(tree)) return undefined;
  return { kind: "choice", reason: `${name}() depends on the order in which rows are read` };
}

function opennessOfWindow(tree: Tree, isExact: (argument: Tree) => boolean): Open | undefined {
  const name = textOf(tree, "function_name").toLowerCase();
  if (exactWindows.has(name)) return undefined;
  const frames = `${textOf(tree, "start")} ${textOf(tree, "end")}`;
  const choice: Open = {
    kind: "choice",
    reason: `${name}() OVER (…) may put equal rows in another order each time`,
  };
  if (frames.includes("_ROWS") || treeOf(tree, "offset_expr") !== undefined) return choice;
  const isPositional =
    /^(row_number|ntile|lag|lead|first_value|last_value|nth_value|fill|first|last)$/;
  if (isPositional.test(name)) return choice;
  return opennessOfAggregate(tree, isExact);
}
