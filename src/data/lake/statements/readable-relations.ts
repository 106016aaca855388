/**
 * Relations that are no tables of the lake, and that SQL may read all the same: each kind of work
 * gives its own, through this port. They are read only, in the schema `main`, as they are now; a
 * table of the lake of the same name goes first.
 */
export interface ReadableRelation {
  /** Tables of the lake that its SELECT reads by their names, where they are there. */
  readonly reads: readonly string[];
  /** Columns of texts by which it can be asked for fewer rows than all. */
  readonly keys?: readonly string[];
  /**
   * `there`: which of `reads` there are. `wanted`: rows that the statement has no use for, and that
   * may be left out, are all others.
   */
  open(
    there: ReadonlySet<string>,
    signal: AbortSignal,
    wanted?: WantedRows,
  ): Promise<OpenedRelation>;
}

/** The rows that have one of these values in one of the relation's `keys`. */
export interface WantedRows {
  readonly column: string;
  readonly values: readonly string[];
}

export interface OpenedRelation {
  /** A SELECT that DuckDB runs as it is. With `lines`, `rowsFile` in it stands for their file. */
  readonly sql: string;
  /** Rows that are too many for a statement's text: lines of JSON, some whole ones at a time. */
  readonly lines?: AsyncIterable<string>;
}

/** What stands in `sql` where the file of the rows is named: `read_json({rows file}, …)`. */
export const rowsFile = "{rows file}";

/** By name, in lower case. */
export type ReadableRelations = ReadonlyMap<string, ReadableRelation>;
