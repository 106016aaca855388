/**
 * A person's SELECT, bound to versions of the lake's tables: what travels to a worker. The names in the text stay what they
 * were, so that DuckDB's errors point into the person's own words; only where a table is read at another moment than now, its
 * name in the text is replaced.
 *
 *   BQ1  All tables without `AT` are of one snapshot.
 *   BQ2  A name that is no table of the lake is refused here, before any worker sees it.
 */
import {
  nameKey,
  parseSelectTree,
  renameTablesInText,
  type TableUse,
  tableRefs,
} from "../../sql/core/index.ts";
import { withoutHidden } from "../core/hidden-columns.ts";
import type { LakeCatalog, TableMoment, TableVersion } from "../core/index.ts";

/** A table version under the name that a statement has for it. */
export interface BoundTable {
  readonly schema: string;
  readonly name: string;
  readonly version: TableVersion;
}

export interface BoundQuery {
  readonly sql: string;
  readonly tables: readonly BoundTable[];
}

export interface BindPorts {
  readonly catalog: Pick<LakeCatalog, "resolve">;
  /** DuckDB's syntax tree of a SELECT that may run; throws `bad_sql`. */
  parse(sql: string): Promise<string>;
}

const defaultSchema = "main";

export async function bindQuery(ports: BindPorts, sql: string): Promise<BoundQuery> {
  const tree = parseSelectTree(await ports.parse(sql), sql);
  const uses = distinctUses(tableRefs(tree));
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

function distinctUses(uses: readonly TableUse[]): readonly TableUse[] {
  return [...new Map(uses.map((use) => [keyOf(use), use])).values()];
}

function keyOf({ schema, name, at }: TableUse): string {
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
