/**
 * Plans whether and how a definition can be refreshed incrementally. A plan is data that can be
 * stored beside the definition. Any SQL that planning does not understand makes the definition
 * FULL, with the reason. A plan's SQL is bound before the plan is returned, and must give the
 * definition's own columns and types.
 */
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { analyseQuery } from "./analyse-query.ts";
import { Analysis, stubRendering } from "./analysis.ts";
import { inlineCtes, type SourceSchema, sourceIndex, withoutSchemas } from "./inline.ts";
import { type MergePlan, planMerge } from "./merge-plan.ts";
import { hiddenColumns, type Relation } from "./relation.ts";
import { renderRelation } from "./render.ts";
import type { ColumnType, SqlTool } from "./sql-tool.ts";
import { NotIncremental, rewriteTree, type Tree } from "./syntax.ts";

/** How changed rows are found: by source rows, by keys, or merged into their groups. */
export type Strategy = "rows" | "keys" | "merge";

export interface IncrementalPlan {
  readonly kind: "incremental";
  readonly strategy: Strategy;
  readonly reason: string;
  /** The definition's columns. */
  readonly columns: readonly ColumnType[];
  /** Stored after the definition's columns, and never shown. */
  readonly hiddenColumns: readonly ColumnType[];
  readonly allColumns: readonly ColumnType[];
  readonly relation: Relation;
  readonly merge: MergePlan | undefined;
}

export interface FullPlan {
  readonly kind: "full";
  readonly reason: string;
}

const reserved = /^_(row_id|rid|key|branch|state)(_\d+)?$/i;

/** Throws `bad_sql` for a definition that does not parse or bind. */
export async function planIncremental(
  definition: string,
  sources: readonly SourceSchema[],
  tool: SqlTool,
): Promise<IncrementalPlan | FullPlan> {
  const analysis = await Analysis.start(tool, sources);
  try {
    const node = withoutSchemas(inlineCtes(await parseDefinition(definition, tool)));
    checkTables(node, sources);
    const columns = await describeWritten(node, analysis);
    return await planQuery(node, columns, analysis);
  } catch (thrown) {
    if (thrown instanceof NotIncremental) return { kind: "full", reason: thrown.message };
    throw thrown;
  }
}

async function parseDefinition(definition: string, tool: SqlTool): Promise<Tree> {
  try {
    return await tool.parse(definition);
  } catch (thrown) {
    // PIVOT and similar statements are SELECTs that DuckDB does not serialise.
    if (!/only SELECT statements/i.test(messageOf(thrown))) throw thrown;
    throw new NotIncremental(`DuckDB does not give its syntax tree: ${messageOf(thrown)}`);
  }
}

/** The definition was parsed, so a syntax error comes from DuckDB's writer (`"a b".*` unquoted). */
async function describeWritten(node: Tree, analysis: Analysis): Promise<readonly ColumnType[]> {
  try {
    return await analysis.describeDefinition(node);
  } catch (thrown) {
    if (!/^Parser Error/.test(messageOf(thrown))) throw thrown;
    throw new NotIncremental("DuckDB does not write it down as it reads it");
  }
}

function checkTables(node: Tree, sources: readonly SourceSchema[]): void {
  for (const { columns } of sources) checkNames(columns);
  rewriteTree(node, (tree) => {
    if (tree.type === "BASE_TABLE" && sourceIndex(tree, sources) === -1) {
      throw new NotIncremental(`${String(tree.table_name)} is not among its sources`);
    }
    return undefined;
  });
}

function checkNames(columns: readonly { readonly name: string }[]): void {
  const taken = columns.find(({ name }) => reserved.test(name));
  if (taken !== undefined) {
    throw new NotIncremental(`the column name ${taken.name} is one that refreshing uses`);
  }
}

async function planQuery(
  node: Tree,
  columns: readonly ColumnType[],
  analysis: Analysis,
): Promise<IncrementalPlan | FullPlan> {
  checkNames(columns);
  const analysed = await analyseQuery(node, analysis, true);
  if (analysed.relation.components.length === 0) {
    return { kind: "full", reason: "it reads no source" };
  }
  const planned = await planMerge(analysed, analysis);
  const relation = planned?.block ?? analysed.relation;
  const sql = renderRelation(
    relation,
    { image: "new", pick: undefined },
    stubRendering(analysis.sources),
  );
  const allColumns = await describeOwn(sql, analysis);
  const visible = allColumns.slice(0, columns.length);
  const isSame = columns.every(
    ({ name, type }, index) => visible[index]?.name === name && visible[index]?.type === type,
  );
  if (!isSame) return { kind: "full", reason: "its columns could not be told apart" };
  checkKeys(relation, allColumns);
  const hidden = new Set(hiddenColumns(relation));
  const strategy =
    planned !== undefined
      ? "merge"
      : relation.components.every(({ rowsOf }) => rowsOf !== undefined)
        ? "rows"
        : "keys";
  return {
    kind: "incremental",
    strategy,
    reason: reasons[strategy],
    columns: visible,
    hiddenColumns: allColumns.filter(({ name }) => hidden.has(name)),
    allColumns,
    relation,
    merge: planned?.merge,
  };
}

/** A value that the lake does not store exactly cannot be used to find rows again. */
function checkKeys({ components }: Relation, columns: readonly ColumnType[]): void {
  const names = new Set(components.flatMap((component) => component.columns));
  const lossy = columns.find(
    ({ name, type }) => names.has(name) && /\b(INTERVAL|TIME WITH TIME ZONE)\b/.test(type),
  );
  if (lossy === undefined) return;
  throw new NotIncremental(
    `rows would be found by a value of type ${lossy.type}, which is rounded`,
  );
}

const reasons: Readonly<Record<Strategy, string>> = {
  rows: "its rows are found by the ids of the source rows they are made of",
  keys: "the groups, partitions or join keys that changed rows belong to are computed again",
  merge: "changes are added to and taken off the groups they belong to",
};

/** Binds the plan's own SQL. */
async function describeOwn(sql: string, analysis: Analysis): Promise<readonly ColumnType[]> {
  try {
    return await analysis.tool.describe(sql);
  } catch (thrown) {
    if (!(thrown instanceof OperatingError)) throw thrown;
    throw new NotIncremental(`its incremental SQL does not bind: ${thrown.message}`);
  }
}
