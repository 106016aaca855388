/**
 * The port by which other kinds of work let SQL read relations that are no tables of the lake. They
 * are read-only, in the schema `main`, and current. A table of the lake with the same name takes
 * precedence.
 */
export interface ReadableRelation {
  /** Tables of the lake that its SELECT reads by name, if they exist. */
  readonly reads: readonly string[];
  /** Text columns by which fewer rows can be requested. */
  readonly keys?: readonly string[];
  /** `there` are the existing tables of `reads`. Rows outside `wanted` may be left out. */
  open(
    there: ReadonlySet<string>,
    signal: AbortSignal,
    wanted?: WantedRows,
  ): Promise<OpenedRelation>;
}

/** The rows with one of these values in a column of the relation's `keys`. */
export interface WantedRows {
  readonly column: string;
  readonly values: readonly string[];
}

export interface OpenedRelation {
  /** A SELECT for DuckDB. With `lines`, `rowsFile` in it stands for their file. */
  readonly sql: string;
  /** Rows too many for a statement's text: JSON lines, several whole ones at a time. */
  readonly lines?: AsyncIterable<string>;
}

/** The placeholder in `sql` for the file of the rows: `read_json({rows file}, …)`. */
export const rowsFile = "{rows file}";

/** The relations by name in lower case. */
export type ReadableRelations = ReadonlyMap<string, ReadableRelation>;
