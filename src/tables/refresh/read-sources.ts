/** A refresh's sources: at the snapshots that its claim names, and as relations that its SQL knows by name. */
import {
  addedSql,
  type ChangeScan,
  type LakeCatalog,
  removedSql,
  type TableVersion,
  tableSql,
  visibleColumns,
} from "../../lake/index.ts";
import type { Engine } from "../../queries/index.ts";
import { quoteName } from "../../sql/core/index.ts";
import type { RefreshSource } from "../core/index.ts";

/** A source as a refresh reads it. */
export interface ReadSource {
  readonly now: TableVersion;
  readonly before: TableVersion | undefined;
  /** `undefined`: what changed cannot be told. */
  readonly scan: ChangeScan | undefined;
}

export type Relations = Parameters<Engine["openSession"]>[0];

type SourceRows = "added" | "new" | "old" | "removed";

/** The snapshot before may be gone, and the columns may be others: then only the whole of it can be read. */
export async function readSource(
  catalog: Pick<LakeCatalog, "changes" | "version">,
  { tableId, from, to }: RefreshSource,
): Promise<ReadSource> {
  const now = await catalog.version(tableId, to);
  if (from === undefined) return { now, before: undefined, scan: undefined };
  const scan = await catalog.changes(tableId, from, to);
  if (scan === "gone" || !scan.sameColumns) return { now, before: undefined, scan: undefined };
  return { now, before: await catalog.version(tableId, from), scan };
}

/** No schema of the lake's: a table of a person's may be called as it likes. */
const ownSchema = "_refresh";

/** The contents that are to be changed, for the SQL of a change. */
export const storedName = `${ownSchema}.stored`;

/** Part of what subtasks say to each other: a name means the same in every version of this program. */
export function sourceName(source: number, rows: SourceRows): string {
  return `${ownSchema}.${relationName(source, rows)}`;
}

function relationName(source: number, rows: SourceRows): string {
  return `source_${source}_${rows}`;
}

export function storedRelation(
  stored: TableVersion,
  localPaths: ReadonlyMap<string, string>,
): Relations[number] {
  return { schema: ownSchema, name: "stored", sql: tableSql(stored, { rowIds: true, localPaths }) };
}

/** By their own names for the definition's text, and by ours, with row ids, for what is computed from it. */
export function sourceRelations(
  sources: readonly ReadSource[],
  localPaths: ReadonlyMap<string, string>,
): Relations {
  return sources.flatMap(({ now, before, scan }, index) => {
    const { table } = now;
    const columns = visibleColumns(table).map(({ name }) => quoteName(name));
    const select = (sql: string, rowIds: boolean): string =>
      `SELECT ${[...(rowIds ? ["_row_id"] : []), ...columns].join(", ")} FROM (${sql})`;
    const ours = (rows: SourceRows, sql: string): Relations[number] => ({
      schema: ownSchema,
      name: relationName(index, rows),
      sql: select(sql, true),
    });
    const plain = tableSql(now, { rowIds: false, localPaths });
    const whole = [
      { schema: table.schema, name: table.name, sql: select(plain, false) },
      ours("new", tableSql(now, { rowIds: true, localPaths })),
    ];
    if (before === undefined || scan === undefined) return whole;
    return [
      ...whole,
      ours("old", tableSql(before, { rowIds: true, localPaths })),
      ours("added", addedSql(scan, { localPaths })),
      ours("removed", removedSql(scan, { localPaths })),
    ];
  });
}

export function rowsOf({ files }: TableVersion): number {
  return files.reduce(
    (sum, { recordCount, deletes }) => sum + recordCount - (deletes?.deleteCount ?? 0),
    0,
  );
}
