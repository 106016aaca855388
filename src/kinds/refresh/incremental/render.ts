/**
 * Renders relations as SQL for one image (the sources now, or at the last refresh): all rows, or
 * only those that one component's set affects. Rows are filtered as deep in the query as is sound:
 * in the changes of a source, or in the leaf that has the key.
 *
 * NULL is a key like any other, so sets are compared with IS NOT DISTINCT FROM. `pick` gives at
 * least the rows whose component is in the set, and only rows of the relation. At a relation's top
 * it gives exactly those rows.
 */
import { quoteName } from "../../../data/sql/core/index.ts";
import { choosableLeaves } from "./from-components.ts";
import {
  type Block,
  type From,
  hiddenColumns,
  type Leaf,
  type Relation,
  type SetOperation,
  type Value,
} from "./relation.ts";
import {
  antiJoin,
  definite,
  type Exclusion,
  type Image,
  type LeafFilter,
  type Rendering,
  Restriction,
  semiJoin,
  type ValueSet,
} from "./restriction.ts";

/** Keeps the rows whose `columns` are in `set`. */
export interface Filter {
  readonly columns: readonly string[];
  readonly set: ValueSet;
}

export interface Choice {
  readonly image: Image;
  readonly pick: number | undefined;
}

/** A SELECT of the visible columns, then of the hidden ones. */
export function renderRelation(
  relation: Relation,
  choice: Choice,
  rendering: Rendering,
  filters: readonly Filter[] = [],
): string {
  // The picked component may be elsewhere in the query. Then all rows of this relation are needed.
  const isHere = relation.components.some(({ id }) => id === choice.pick);
  const ours = isHere ? choice : { ...choice, pick: undefined };
  return relation.kind === "block"
    ? renderBlock(relation, ours, rendering, filters)
    : renderSet(relation, ours, rendering, filters);
}

function renderBlock(
  block: Block,
  choice: Choice,
  rendering: Rendering,
  filters: readonly Filter[],
): string {
  const restriction = new Restriction(block.from, rendering);
  const after: Filter[] = [];
  let guard = "";
  if (block.own !== undefined && block.own.id === choice.pick) {
    const set = rendering.set(block.own.id, choice.image);
    // The single group exists even without rows, so the condition is checked outside.
    if (block.own.keys.length === 0) guard = `EXISTS (SELECT 1 FROM ${set.table})`;
    else restriction.require(block.own.keys, set);
  }
  for (const filter of filters) {
    const values = filter.columns.map((column) => {
      const item = block.items.find(({ name }) => name === column);
      return item?.isRowKey === true ? item.value : undefined;
    });
    const known = values.flatMap((value, index) => (value === undefined ? [] : [index]));
    if (known.length > 0) {
      restriction.require(
        known.map((index) => definite(values[index])),
        { ...filter.set, columns: known.map((index) => definite(filter.set.columns[index])) },
      );
    }
    if (known.length < values.length) after.push(filter);
  }
  const items = [
    ...block.items.map(({ name, value }) => `${value.sql} AS ${quoteName(name)}`),
    ...block.hidden.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`),
  ];
  const select = [
    `SELECT ${items.join(", ")}`,
    selectionSql(block, choice, rendering, restriction, []),
    block.groupBy === undefined || block.groupBy.length === 0
      ? ""
      : `GROUP BY ${block.groupBy.map(({ sql }) => sql).join(", ")}`,
    block.having === undefined ? "" : `HAVING ${block.having}`,
    block.qualify === undefined ? "" : `QUALIFY ${block.qualify}`,
  ];
  const sql = select.filter((part) => part !== "").join(" ");
  const guarded = guard === "" ? sql : `SELECT * FROM (${sql}) WHERE ${guard}`;
  return filtered(guarded, after, rendering);
}

/** `SELECT items` over the FROM and WHERE of a block, before groups and windows. */
export function renderRows(
  block: Block,
  choice: Choice,
  rendering: Rendering,
  items: string,
  exclusions: readonly Exclusion[],
): string {
  const restriction = new Restriction(block.from, rendering);
  return `SELECT ${items} ${selectionSql(block, choice, rendering, restriction, exclusions)}`;
}

/** `SELECT items` over a FROM alone. */
export function renderFromRows(
  from: From,
  choice: Choice,
  rendering: Rendering,
  items: string,
): string {
  const restriction = new Restriction(from, rendering);
  return `SELECT ${items} ${selectionSql({ from, where: undefined }, choice, rendering, restriction, [])}`;
}

function selectionSql(
  { from, where }: Pick<Block, "from" | "where">,
  choice: Choice,
  rendering: Rendering,
  restriction: Restriction,
  exclusions: readonly Exclusion[],
): string {
  if (from === undefined) return where === undefined ? "" : `WHERE ${where}`;
  if (choice.pick !== undefined) requireJoinKey(from, choice, rendering, restriction);
  const tables = [renderFrom(from, choice, rendering, restriction), ...restriction.joins];
  for (const [index, exclusion] of exclusions.entries()) {
    tables.push(antiJoin(exclusion, `_x${index + 1}`, rendering));
  }
  const conditions = [...(where === undefined ? [] : [`(${where})`]), ...restriction.conditions];
  const tail = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return `FROM ${tables.join(" ")}${tail}`;
}

function renderFrom(
  from: From,
  choice: Choice,
  rendering: Rendering,
  restriction: Restriction,
): string {
  if (from.kind !== "join") return renderLeaf(from, choice, rendering, restriction);
  const left = renderFrom(from.left, choice, rendering, restriction);
  const right = renderFrom(from.right, choice, rendering, restriction);
  if (from.condition === undefined && from.join === "INNER") {
    return `(${left} CROSS JOIN ${right})`;
  }
  return `(${left} ${from.join} JOIN ${right} ON (${from.condition ?? "true"}))`;
}

function renderLeaf(
  leaf: Leaf,
  choice: Choice,
  rendering: Rendering,
  restriction: Restriction,
): string {
  const alias = quoteName(leaf.leaf);
  const filters = restriction.leaves.get(leaf.leaf) ?? [];
  if (leaf.kind === "relation") {
    // Plain columns are filtered inside. A key that is more than a column is filtered outside.
    const inside: Filter[] = [];
    const outside: LeafFilter[] = [];
    for (const filter of filters) {
      const columns = filter.values.map(
        ({ column }) => leaf.columns.find(({ as }) => as === column)?.name,
      );
      if (columns.every((column) => column !== undefined))
        inside.push({ columns, set: filter.set });
      else outside.push(filter);
    }
    const sql = renderRelation(leaf.relation, choice, rendering, inside);
    const renamed = leaf.columns.some(({ name, as }) => name !== as);
    const items = [
      ...leaf.columns.map(({ name, as }) => `${quoteName(name)} AS ${quoteName(as)}`),
      ...hiddenColumns(leaf.relation).map(quoteName),
    ];
    const table = renamed ? `SELECT ${items.join(", ")} FROM (${sql})` : sql;
    return `(${semiJoined(`(${table}) AS ${alias}`, outside, rendering) ?? table}) AS ${alias}`;
  }
  if (leaf.kind === "fixed") {
    const table = `(${leaf.sql}) AS ${alias}`;
    const chosen = semiJoined(table, filters, rendering);
    return chosen === undefined ? table : `(${chosen}) AS ${alias}`;
  }
  const changes = choice.image === "new" ? "added" : "removed";
  const rows = choice.pick === leaf.id ? changes : choice.image;
  const items = [
    ...leaf.columns.map(({ name, as }) => `${quoteName(name)} AS ${quoteName(as)}`),
    `"_row_id" AS ${quoteName(leaf.rowId)}`,
  ];
  const table = `(SELECT ${items.join(", ")} FROM ${rendering.source(leaf.source, rows)}) AS ${alias}`;
  const chosen = semiJoined(table, filters, rendering);
  return chosen === undefined ? table : `(${chosen}) AS ${alias}`;
}

function semiJoined(
  table: string,
  filters: readonly LeafFilter[],
  rendering: Rendering,
): string | undefined {
  if (filters.length === 0) return undefined;
  const joins = filters.map((filter, index) => semiJoin(filter, `_f${index + 1}`, rendering));
  return `SELECT * FROM ${table} ${joins.join(" ")}`;
}

/** If the picked component is a join's key, limits both sides of the join to affected keys. */
function requireJoinKey(
  from: From,
  choice: Choice,
  rendering: Rendering,
  restriction: Restriction,
): void {
  if (from.kind !== "join") return;
  requireJoinKey(from.left, choice, rendering, restriction);
  requireJoinKey(from.right, choice, rendering, restriction);
  const { key } = from;
  if (key === undefined || key.id !== choice.pick) return;
  const set = rendering.set(key.id, choice.image);
  if (from.join === "RIGHT" || from.join === "FULL") {
    restriction.narrow(key.left, set, choosableLeaves(from.left));
  }
  if (from.join !== "RIGHT") restriction.narrow(key.right, set, choosableLeaves(from.right));
  restriction.require(key.result, set);
}

/** Wraps a SELECT in filters that could not be applied deeper. */
function filtered(sql: string, filters: readonly Filter[], rendering: Rendering): string {
  if (filters.length === 0) return sql;
  const joins = filters.map(({ columns, set }, index) =>
    semiJoin(
      { values: columns.map((column) => outputValue("_r", column)), set },
      `_a${index + 1}`,
      rendering,
    ),
  );
  return `SELECT "_r".* FROM (${sql}) AS "_r" ${joins.join(" ")}`;
}

export function outputValue(alias: string, column: string): Value {
  return { sql: `${quoteName(alias)}.${quoteName(column)}`, leaf: undefined, column: undefined };
}

function renderSet(
  operation: SetOperation,
  choice: Choice,
  rendering: Rendering,
  filters: readonly Filter[],
): string {
  const all =
    operation.own !== undefined && operation.own === choice.pick
      ? [
          ...filters,
          {
            columns: operation.columns.map(({ name }) => name),
            set: rendering.set(operation.own, choice.image),
          },
        ]
      : filters;
  const { operator, branchColumn } = operation;
  if (branchColumn === undefined) {
    const sides = operation.branches.map(
      (branch) =>
        `(${renderBranch(operation, branch, { ...choice, pick: undefined }, rendering, all)})`,
    );
    return sides.join(` ${operator} `);
  }
  const branches = operation.branches.flatMap((branch, index) => {
    const isPicked =
      choice.pick === undefined || branch.components.some(({ id }) => id === choice.pick);
    if (!isPicked) return [];
    const hidden = [
      `${index} AS ${quoteName(branchColumn)}`,
      ...operation.hidden.map(({ name, branch: owner, column }) =>
        owner === index
          ? `"_b".${quoteName(column)} AS ${quoteName(name)}`
          : `NULL AS ${quoteName(name)}`,
      ),
    ];
    return [renderBranch(operation, branch, choice, rendering, all, hidden)];
  });
  return branches.map((sql) => `(${sql})`).join(" UNION ALL ");
}

/** A branch with the names and types of the whole operation. */
function renderBranch(
  operation: SetOperation,
  branch: Relation,
  choice: Choice,
  rendering: Rendering,
  filters: readonly Filter[],
  hidden: readonly string[] = [],
): string {
  const inside: Filter[] = [];
  const outside: Filter[] = [];
  for (const filter of filters) {
    const indices = filter.columns.map((name) =>
      operation.columns.findIndex((column) => column.name === name),
    );
    // A value of another type may compare differently, so it is filtered after the cast.
    const isSame = indices.every(
      (index) => branch.columns[index]?.type === operation.columns[index]?.type,
    );
    if (isSame) {
      const columns = indices.map((index) => definite(branch.columns[index]).name);
      inside.push({ columns, set: filter.set });
    } else outside.push(filter);
  }
  const items = operation.columns.map(({ name, type }, index) => {
    const column = definite(branch.columns[index]);
    const value = `"_b".${quoteName(column.name)}`;
    return `${column.type === type ? value : `CAST(${value} AS ${type})`} AS ${quoteName(name)}`;
  });
  const sql = renderRelation(branch, choice, rendering, inside);
  return filtered(
    `SELECT ${[...items, ...hidden].join(", ")} FROM (${sql}) AS "_b"`,
    outside,
    rendering,
  );
}
