/**
 * Analyses one SELECT: what it reads, how its rows are made, and by which columns its changed rows
 * are found (TI3, TI11). Without groups and windows, a row is identified by the ids of its source
 * rows, which become hidden columns. With groups, it is identified by the group key; with windows,
 * by the columns that all of them are partitioned by.
 */
import { FromAnalysis } from "./analyse-from.ts";
import type { Analysed, Analysis } from "./analysis.ts";
import { componentsOfFrom, sourcesOf } from "./from-components.ts";
import { checkFunctions, isAggregate, type Open, opennessOf, sumArguments } from "./functions.ts";
import type { Block, Component, From, FromComponent, Item, Value } from "./relation.ts";
import { definite } from "./restriction.ts";
import { expandStar, type Names, resolve, type Scope } from "./scope.ts";
import { joinSubqueries } from "./subqueries.ts";
import {
  conjunctionOf,
  conjunctsOf,
  identityOf,
  listOf,
  NotIncremental,
  some,
  type Tree,
  textOf,
  textsOf,
  treeOf,
  walk,
} from "./syntax.ts";

/** The clauses with all names resolved. */
interface Clauses {
  readonly items: readonly Tree[];
  readonly where: Tree | undefined;
  readonly keys: readonly Tree[] | undefined;
  readonly having: Tree | undefined;
  readonly qualify: Tree | undefined;
}

export async function analyseBlock(
  node: Tree,
  analysis: Analysis,
  relation: (node: Tree) => Promise<Analysed>,
): Promise<Analysed> {
  if (treeOf(node, "sample") !== undefined) {
    throw new NotIncremental("a sample is another one each time");
  }
  const fromAnalysis = new FromAnalysis(analysis, relation);
  const own = await fromAnalysis.from(treeOf(node, "from_table") ?? {});
  const select = resolveSelect(node, own.scope);
  const plain = conjunctsOf(treeOf(node, "where_clause"));
  const { joined, rest } = await joinSubqueries(own, plain, fromAnalysis);
  const { from, conditions } = joined;
  const { scope } = own;
  const names: Names = { scopes: [scope], aliases: select.aliases };
  const clauses: Clauses = {
    items: select.items,
    where: conjunctionOf(rest.map((condition) => resolve(condition, names))),
    keys: groupKeys(node, select.items, names, analysis),
    having: resolveAfterGroups(treeOf(node, "having"), names),
    qualify: resolveAfterGroups(treeOf(node, "qualify"), names),
  };
  for (const clause of Object.values(clauses)) checkFunctions(clause, analysis.functions);
  const partition = partitionKeys(clauses);
  const keyed = partition ?? clauses.keys;
  checkUnnest(clauses, keyed !== undefined);

  const columns = await analysis.describe(node);
  if (columns.length !== clauses.items.length) {
    throw new NotIncremental("its columns could not be told apart");
  }
  const exact = await exactArguments(clauses, from, analysis);
  const openness = (expression: unknown): Open | undefined =>
    opennessOf(
      expression,
      analysis.functions,
      (argument) => exact.has(identityOf(argument)),
      (leaf, column) =>
        joined.scope.leaves.find((entry) => entry.leaf === leaf)?.unsettled.columns.get(column),
    );
  const allLeaves = joined.scope.leaves;
  checkSettled(clauses, keyed, conditions, allLeaves, from, openness);

  const keys = keyed === undefined ? undefined : await analysis.values(keyed);
  const values = await analysis.values(clauses.items);
  const items: Item[] = values.map((value, index) => ({
    name: definite(columns[index]).name,
    value,
    isRowKey: isRowKey(definite(clauses.items[index]), keyed, analysis),
  }));
  const inner = componentsOfFrom(from);
  const identified = identify(items, keys, inner, analysis);
  const write = async (clause: Tree | undefined) =>
    clause === undefined ? undefined : await analysis.write(clause);
  const block: Block = {
    kind: "block",
    columns,
    from,
    where: await write(clauses.where),
    items,
    groupBy: clauses.keys === undefined ? undefined : await analysis.values(clauses.keys),
    having: await write(clauses.having),
    qualify: await write(clauses.qualify),
    ...identified,
  };
  const openColumns = clauses.items.flatMap((item, index) => {
    const open = openness(item);
    return open === undefined ? [] : [[definite(columns[index]).name, open] as const];
  });
  const rowsOpen =
    allLeaves.map(({ unsettled }) => unsettled.rows).find((open) => open !== undefined) ??
    openness([clauses.where, clauses.having, clauses.qualify]);
  const isGrouped = clauses.keys !== undefined && partition === undefined;
  return {
    relation: block,
    unsettled: { rows: rowsOpen, columns: new Map(openColumns) },
    grouped: isGrouped
      ? {
          items: clauses.items,
          keys: clauses.keys,
          isSettled: allLeaves.every(({ unsettled }) => unsettled.columns.size === 0),
        }
      : undefined,
  };
}

/** Resolves HAVING and QUALIFY. A name that is both a column and another item is refused. */
function resolveAfterGroups(clause: Tree | undefined, names: Names): Tree | undefined {
  if (clause === undefined) return undefined;
  walk(clause, (tree) => {
    const [name, ...more] = textsOf(tree, "column_names");
    if (name === undefined || more.length > 0) return true;
    const item = names.aliases.get(name.toLowerCase());
    if (item === undefined) return true;
    const isColumn = names.scopes.some(({ leaves }) =>
      leaves.some(({ columns }) =>
        columns.some((column) => column.toLowerCase() === name.toLowerCase()),
      ),
    );
    if (isColumn && identityOf(item) !== identityOf(resolve(tree, names))) {
      throw new NotIncremental(`${name} is both a column and an item of the SELECT`);
    }
    return true;
  });
  return resolve(clause, names);
}

/** The items with `*` expanded, and their names. */
function resolveSelect(node: Tree, scope: Scope) {
  const aliases = new Map<string, Tree>();
  const items: Tree[] = [];
  for (const item of listOf(node, "select_list")) {
    if (item.class === "STAR") {
      items.push(...expandStar(item, scope));
      continue;
    }
    const resolved = resolve(item, { scopes: [scope], aliases });
    items.push(resolved);
    const alias = textOf(item, "alias");
    if (alias !== "" && !aliases.has(alias.toLowerCase()))
      aliases.set(alias.toLowerCase(), resolved);
  }
  return { items, aliases };
}

/** Undefined when rows are not grouped. */
function groupKeys(
  node: Tree,
  items: readonly Tree[],
  names: Names,
  analysis: Analysis,
): readonly Tree[] | undefined {
  const hasAggregate = (expression: unknown) =>
    some(expression, (tree) => isAggregate(tree, analysis.functions));
  const handling = textOf(node, "aggregate_handling");
  const written = listOf(node, "group_expressions");
  const sets: unknown = node.group_sets;
  if (Array.isArray(sets) && sets.length > 1) {
    throw new NotIncremental("GROUPING SETS, ROLLUP and CUBE are not followed");
  }
  if (
    some([items, node.having, node.qualify], (tree) =>
      /^grouping(_id)?$/.test(textOf(tree, "function_name")),
    )
  ) {
    throw new NotIncremental("GROUPING() is not followed");
  }
  if (handling === "FORCE_AGGREGATES") {
    const keys = items.filter((item) => !hasAggregate(item));
    return withoutConstants(keys, items.some(hasAggregate));
  }
  if (written.length === 0) {
    const isAggregated =
      hasAggregate([items, node.having, node.qualify]) || treeOf(node, "having") !== undefined;
    return isAggregated ? [] : undefined;
  }
  const keys = written.map((expression) => {
    const position = treeOf(expression, "value")?.value;
    if (expression.class === "CONSTANT" && typeof position === "number") {
      const item = items[position - 1];
      if (item === undefined) throw new NotIncremental("GROUP BY names a column that is not there");
      return item;
    }
    return resolve(expression, names);
  });
  return withoutConstants(keys, false);
}

/** Constants make no more groups. One key must remain: without keys, a group needs no rows. */
function withoutConstants(keys: readonly Tree[], mayBeEmpty: boolean): readonly Tree[] {
  const unique = new Map(keys.map((key) => [identityOf(key), key]));
  const varying = [...unique.values()].filter((key) => key.class !== "CONSTANT");
  if (varying.length === 0 && !(mayBeEmpty && keys.length === 0)) {
    throw new NotIncremental("GROUP BY of nothing but constants is not followed");
  }
  return varying;
}

/** The columns that all windows are partitioned by, of the group keys if there are groups. */
function partitionKeys({ items, qualify, keys }: Clauses): readonly Tree[] | undefined {
  const windows: Tree[] = [];
  walk([items, qualify], (tree) => {
    if (tree.class === "WINDOW") windows.push(tree);
    return true;
  });
  const [first, ...others] = windows;
  if (first === undefined) return undefined;
  const groups = keys === undefined ? undefined : new Set(keys.map(identityOf));
  const common = listOf(first, "partitions").filter((partition) => {
    const identity = identityOf(partition);
    const isShared = others.every((window) =>
      listOf(window, "partitions").some((other) => identityOf(other) === identity),
    );
    return isShared && partition.class !== "CONSTANT" && (groups?.has(identity) ?? true);
  });
  if (common.length === 0) {
    throw new NotIncremental(
      windows.some((window) => listOf(window, "partitions").length === 0)
        ? "a window without PARTITION BY meets every row"
        : "its windows share no PARTITION BY column",
    );
  }
  return [...new Map(common.map((key) => [identityOf(key), key])).values()];
}

function checkUnnest(clauses: Clauses, isKeyed: boolean): void {
  const isUnnest = (tree: Tree) => textOf(tree, "function_name") === "unnest";
  if (isKeyed && some(Object.values(clauses), isUnnest)) {
    throw new NotIncremental("unnest() beside groups or windows is not followed");
  }
}

function isRowKey(item: Tree, keyed: readonly Tree[] | undefined, analysis: Analysis): boolean {
  if (keyed !== undefined) {
    const identity = identityOf(item);
    return keyed.some((key) => identityOf(key) === identity);
  }
  return !some(
    item,
    (tree) => textOf(tree, "function_name") === "unnest" || isAggregate(tree, analysis.functions),
  );
}

async function exactArguments(
  clauses: Clauses,
  from: From | undefined,
  analysis: Analysis,
): Promise<ReadonlySet<string>> {
  const candidates = [
    ...new Map(
      sumArguments(Object.values(clauses))
        // An aggregate inside a window's argument has no type before grouping.
        .filter((argument) => !some(argument, (tree) => isAggregate(tree, analysis.functions)))
        .map((argument) => [identityOf(argument), argument]),
    ),
  ];
  const values = await analysis.values(candidates.map(([, argument]) => argument));
  const types = await analysis.typesOf(
    values.map(({ sql }) => sql),
    from,
  );
  return new Set(
    candidates.flatMap(([identity], index) =>
      /DOUBLE|FLOAT|REAL/.test(types[index] ?? "DOUBLE") ? [] : [identity],
    ),
  );
}

/** A key, a join, or a condition below a key must not use values that SQL leaves open (TI11). */
function checkSettled(
  { where }: Clauses,
  keyed: readonly Tree[] | undefined,
  conditions: readonly Tree[],
  leaves: Scope["leaves"],
  from: From | undefined,
  openness: (expression: unknown) => Open | undefined,
): void {
  const refuse = (open: Open | undefined, what: string): void => {
    if (open !== undefined) throw new NotIncremental(`${open.reason}, and ${what}`);
  };
  for (const { unsettled } of leaves) {
    if (from?.kind === "join") {
      refuse(unsettled.rows, "its rows are joined");
      const choice = [...unsettled.columns.values()].find(({ kind }) => kind === "choice");
      refuse(choice, "its rows are joined");
    }
    if (keyed !== undefined) refuse(unsettled.rows, "its rows are grouped again");
  }
  refuse(openness(conditions), "a join compares it");
  if (keyed === undefined) return;
  refuse(openness(keyed), "rows are grouped by it");
  refuse(openness(where), "rows are chosen by it before they are grouped");
}

/** The components of the block, and the hidden columns that they need. */
function identify(
  items: readonly Item[],
  keys: readonly Value[] | undefined,
  inner: readonly FromComponent[],
  analysis: Analysis,
): Pick<Block, "own" | "hidden" | "components"> {
  if (inner.length === 0) return { own: undefined, hidden: [], components: [] };
  const hidden: { name: string; sql: string }[] = [];
  const expose = (sql: string, prefix: string): string => {
    const visible = items.find(({ value }) => value.sql === sql);
    if (visible !== undefined) return visible.name;
    const known = hidden.find((column) => column.sql === sql);
    if (known !== undefined) return known.name;
    const name = `_${prefix}_${analysis.nextId()}`;
    hidden.push({ name, sql });
    return name;
  };
  if (keys !== undefined) {
    const id = analysis.nextId();
    const columns = keys.map(({ sql }) => expose(sql, "key"));
    const component: Component = {
      id,
      columns,
      guards: [],
      sources: sourcesOf(inner),
      rowsOf: undefined,
    };
    return { own: { id, keys }, hidden, components: [component] };
  }
  const components = inner.map((component) => ({
    id: component.id,
    columns: component.values.map(({ sql }) =>
      expose(sql, component.rowsOf === undefined ? "key" : "rid"),
    ),
    guards: component.guards.map(({ sql, branch }) => ({ column: expose(sql, "branch"), branch })),
    sources: component.sources,
    rowsOf: component.rowsOf,
  }));
  return { own: undefined, hidden, components };
}
