/** What names mean: the port through which the binder sees sources, sinks, views and tables. */
import type { Schema } from "./data-type.ts";
import type { AstQuery } from "./parse/ast.ts";
import type { Settings } from "./plan.ts";

export interface LogicalSource {
  /** In the spelling of its declaration. */
  readonly name: string;
  readonly schema: Schema;
  /** The column and the bound of `WATERMARK(…)`. */
  readonly watermark: { readonly column: number; readonly boundMs: number } | undefined;
  /** Of `CREATE LOGICAL SOURCE … AS query`: the query that stands for the source. */
  readonly query: AstQuery | undefined;
}

export interface PhysicalSource {
  readonly id: number | string;
  readonly logical: string;
  readonly type: string;
  readonly config: Settings;
  readonly parser: Settings;
}

export interface SinkDefinition {
  readonly name: string;
  /** Absent where the sink takes whatever a query gives. */
  readonly schema: Schema | undefined;
  readonly type: string;
  readonly config: Settings;
  readonly formatter: Settings;
}

export interface ViewDefinition {
  readonly name: string;
  readonly query: AstQuery;
}

/** A table of the lake as streams see it: every column has a type of the dialect. */
export interface LakeTable {
  readonly name: string;
  readonly schema: Schema;
  /** Columns that no sink can write, with their types in the lake. */
  readonly unwritable?: ReadonlyMap<string, string>;
  /** Columns that rows of a sink cannot leave out, besides those that are NOT NULL. */
  readonly required?: ReadonlySet<string>;
  /** Why no sink writes to it: somebody else fills it. */
  readonly filled?: FilledTable;
}

export interface FilledTable {
  /** What it is: `a dynamic table`. */
  readonly what: string;
  readonly hint: string;
}

/** Names compare case-insensitively. `undefined` means that there is none. */
export interface Catalog {
  logicalSource(name: string): LogicalSource | undefined;
  physicalSources(logical: string): readonly PhysicalSource[];
  sink(name: string): SinkDefinition | undefined;
  view(name: string): ViewDefinition | undefined;
  /** Whether there is a lake at all. */
  readonly hasLake: boolean;
  table(name: string): LakeTable | undefined;
  /** All names of a kind, for suggestions. */
  names(kind: "source" | "sink" | "table"): readonly string[];
}
