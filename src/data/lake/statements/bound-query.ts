/**
 * Binds a user's SELECT to versions of the lake's tables, for a worker to run. Names in the text
 * stay, so that DuckDB's errors point into the user's text; only names of tables with `AT` are
 * replaced.
 *
 * All tables without `AT` are of one snapshot. Unknown names are refused here. A relation of
 * another kind of work is read where the lake has no table of that name. From one with keys, only
 * the rows that the WHEREs demand are requested (SQ27).
 */
import {
  nameKey,
  parseSelectTree,
  renameTablesInText,
  type TableMoment,
  type TableUse,
  tableRefs,
  wantedValues,
} from "../../sql/core/index.ts";
import { withoutHidden } from "../core/hidden-columns.ts";
import type { LakeCatalog, NeededFile, TableVersion } from "../core/index.ts";
import type { ReadableRelation, ReadableRelations, WantedRows } from "./readable-relations.ts";
import type { RowFiles } from "./row-files.ts";

/** A table version under the name that a statement gives it. */
export interface BoundTable {
  readonly schema: string;
  readonly name: string;
  readonly version: TableVersion;
}

export interface BoundQuery {
  readonly sql: string;
  readonly tables: readonly BoundTable[];
  /** SELECTs of other kinds' relations, which may read `tables`. */
  readonly views?: readonly BoundView[];
}

export interface BoundView {
  readonly schema: string;
  readonly name: string;
  /** With `rows`, `rowsFile` in the text stands for that file. */
  readonly sql: string;
  readonly rows?: NeededFile;
}

export interface BindPorts {
  readonly catalog: Pick<LakeCatalog, "resolve">;
  /** DuckDB's syntax tree of a permitted SELECT. Throws `bad_sql`. */
  parse(sql: string): Promise<string>;
}

export interface RelationPorts {
  readonly catalog: Pick<LakeCatalog, "tables">;
  readonly relations: ReadableRelations;
  readonly rowFiles: Pick<RowFiles, "put">;
  readonly signal: AbortSignal;
}

type Use = Pick<TableUse, "schema" | "name" | "at">;

const defaultSchema = "main";

/** `readable` are relations of other kinds, for statements that only read. */
export async function bindQuery(
  ports: BindPorts,
  sql: string,
  readable?: RelationPorts,
): Promise<BoundQuery> {
  const tree = parseSelectTree(await ports.parse(sql), sql);
  const named = distinctUses(tableRefs(tree));
  if (named.length === 0) return { sql, tables: [] };
  const { views, reads } = await openRelations(tree, named, readable);
  const isView = (use: Use): boolean => views.some(({ key }) => key === keyOf(use));
  const uses = distinctUses([...named.filter((use) => !isView(use)), ...reads]);
  const bound = await bindTables(ports, tree, sql, uses);
  if (views.length === 0) return bound;
  return {
    ...bound,
    views: views.map(({ key: _, ...view }) => view),
  };
}

async function bindTables(
  ports: BindPorts,
  tree: ReturnType<typeof parseSelectTree>,
  sql: string,
  uses: readonly Use[],
): Promise<BoundQuery> {
  if (uses.length === 0) return { sql, tables: [] };
  const resolved = await ports.catalog.resolve(
    uses.map(({ schema, name, at }) => ({ schema, name, moment: at })),
  );
  const versions = resolved.map(withoutHidden);
  const tables = uses.map((use, index): BoundTable => {
    const version = versions[index] as TableVersion;
    const schema = use.schema ?? defaultSchema;
    return use.at.kind === "current"
      ? { schema, name: use.name, version }
      : { schema: defaultSchema, name: `_at_${index}`, version };
  });
  if (uses.every(({ at }) => at.kind === "current")) return { sql, tables };
  const names = new Map(uses.map((use, index) => [keyOf(use), (tables[index] as BoundTable).name]));
  const renamed = renameTablesInText(tree, (use) =>
    use.at.kind === "current" ? undefined : { name: names.get(keyOf(use)) as string },
  );
  return { sql: renamed, tables };
}

/** Opens the other kinds' relations that the SELECT names. */
async function openRelations(
  tree: ReturnType<typeof parseSelectTree>,
  uses: readonly Use[],
  readable: RelationPorts | undefined,
): Promise<{
  readonly views: readonly (BoundView & { readonly key: string })[];
  readonly reads: readonly Use[];
}> {
  const asked = uses.flatMap((use) => {
    const isHere = use.at.kind === "current" && nameKey(use.schema ?? "main") === defaultSchema;
    const relation = isHere ? readable?.relations.get(nameKey(use.name)) : undefined;
    return relation === undefined ? [] : [{ use, relation }];
  });
  if (readable === undefined || asked.length === 0) return { views: [], reads: [] };
  const tables = await readable.catalog.tables();
  const has = (name: string): boolean =>
    tables.some((table) => nameKey(table.schema) === defaultSchema && nameKey(table.name) === name);
  const given = asked.filter(({ use }) => !has(nameKey(use.name)));
  const there = new Set(given.flatMap(({ relation }) => relation.reads).filter(has));
  const views = [];
  for (const { use, relation } of given) {
    const wanted = wantedOf(tree, use.name, relation);
    const { sql, lines } = await relation.open(there, readable.signal, wanted);
    const rows = lines && { rows: await readable.rowFiles.put(nameKey(use.name), lines) };
    views.push({ key: keyOf(use), schema: defaultSchema, name: use.name, sql, ...rows });
  }
  const at = { kind: "current" } as const;
  const reads = [...there].map((name): Use => ({ schema: undefined, name, at }));
  return { views, reads };
}

function wantedOf(
  tree: ReturnType<typeof parseSelectTree>,
  name: string,
  { keys = [] }: ReadableRelation,
): WantedRows | undefined {
  for (const column of keys) {
    const values = wantedValues(tree, name, column);
    if (values !== undefined) return { column, values: [...values] };
  }
  return undefined;
}

function distinctUses(uses: readonly Use[]): readonly Use[] {
  return [...new Map(uses.map((use) => [keyOf(use), use])).values()];
}

function keyOf({ schema, name, at }: Use): string {
  return JSON.stringify([nameKey(schema ?? defaultSchema), nameKey(name), momentKey(at)]);
}

function momentKey(at: TableMoment): unknown {
  switch (at.kind) {
    case "current":
      return at.kind;
    case "version":
      return at.snapshot;
    case "time":
      return `at ${at.timeMs}`;
  }
}
