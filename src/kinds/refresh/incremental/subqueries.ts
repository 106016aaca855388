/**
 * Turns `x IN (SELECT …)`, `EXISTS (SELECT …)` and `NOT EXISTS (SELECT …)` into semi-joins and
 * anti-joins. NOT IN is excluded: one NULL in the subquery removes every row.
 */
import type { AnalysedFrom, FromAnalysis } from "./analyse-from.ts";
import type { JoinKind } from "./relation.ts";
import { joinScopes, resolve } from "./scope.ts";
import {
  columnReference,
  comparison,
  conjunctsOf,
  listOf,
  NotIncremental,
  type Tree,
  textOf,
  treeOf,
} from "./syntax.ts";

export interface JoinedSubqueries {
  /** Has the scope of everything that was joined. Names outside resolve in the original scope. */
  readonly joined: AnalysedFrom;
  readonly rest: readonly Tree[];
}

export async function joinSubqueries(
  own: AnalysedFrom,
  conjuncts: readonly Tree[],
  analysis: FromAnalysis,
): Promise<JoinedSubqueries> {
  let joined = own;
  const rest: Tree[] = [];
  for (const conjunct of conjuncts) {
    const subquery = subqueryOf(conjunct);
    if (subquery === undefined) {
      rest.push(conjunct);
      continue;
    }
    const { kind, expression } = subquery;
    const node = treeOf(treeOf(expression, "subquery") ?? {}, "node") ?? {};
    const isIn = textOf(expression, "subquery_type") === "ANY";
    const right = isIn
      ? await analysis.subquery(node, "in")
      : await analysis.from(fromOfExists(node));
    const conditions = isIn
      ? [membership(expression, own, right)]
      : conjunctsOf(treeOf(node, "where_clause")).map((condition) =>
          resolve(condition, { scopes: [right.scope, own.scope], aliases: new Map() }),
        );
    const from = await analysis.combine(kind, joined, right, conditions);
    joined = {
      from,
      scope: joinScopes(joined.scope, right.scope),
      conditions: [...joined.conditions, ...right.conditions, ...conditions],
    };
  }
  return { joined, rest };
}

function subqueryOf(
  conjunct: Tree,
): { readonly kind: JoinKind; readonly expression: Tree } | undefined {
  if (conjunct.class === "SUBQUERY") {
    const type = textOf(conjunct, "subquery_type");
    const isIn = type === "ANY" && textOf(conjunct, "comparison_type") === "COMPARE_EQUAL";
    return isIn || type === "EXISTS" ? { kind: "SEMI", expression: conjunct } : undefined;
  }
  if (textOf(conjunct, "type") !== "OPERATOR_NOT") return undefined;
  const [child] = listOf(conjunct, "children");
  if (child?.class !== "SUBQUERY") return undefined;
  if (textOf(child, "subquery_type") === "EXISTS") return { kind: "ANTI", expression: child };
  if (textOf(child, "subquery_type") === "ANY") {
    throw new NotIncremental("NOT IN (SELECT …) changes for every row with one NULL");
  }
  return undefined;
}

function membership(expression: Tree, own: AnalysedFrom, right: AnalysedFrom): Tree {
  const [leaf] = right.scope.leaves;
  const [column] = leaf?.columns ?? [];
  if (leaf === undefined || column === undefined || leaf.columns.length !== 1) {
    throw new NotIncremental("IN with a subquery of several columns is not followed");
  }
  const child = resolve(treeOf(expression, "child") ?? {}, {
    scopes: [own.scope],
    aliases: new Map(),
  });
  return comparison("COMPARE_EQUAL", child, columnReference(leaf.leaf, column));
}

/** EXISTS only tests for rows, so the selected items are irrelevant if they keep the rows. */
function fromOfExists(node: Tree): Tree {
  const isPlain =
    textOf(node, "type") === "SELECT_NODE" &&
    listOf(node, "modifiers").length === 0 &&
    listOf(node, "group_expressions").length === 0 &&
    textOf(node, "aggregate_handling") === "STANDARD_HANDLING" &&
    treeOf(node, "having") === undefined &&
    treeOf(node, "qualify") === undefined &&
    treeOf(node, "sample") === undefined &&
    listOf(node, "select_list").every((item) =>
      ["CONSTANT", "COLUMN_REF", "STAR"].includes(String(item.class)),
    );
  if (!isPlain)
    throw new NotIncremental("EXISTS over more than tables and conditions is not followed");
  return treeOf(node, "from_table") ?? {};
}
