/**
 * A query as a graph of operators: what the binder and the optimizer make, what is stored and sent
 * to workers, and what the engine runs. It is plain JSON.
 *
 * Nodes are listed inputs first; a node may have several consumers. Keys, times and arguments of
 * aggregates are columns, since a projection below computes whatever else they were.
 *
 * Time: an `eventTime` node makes watermarks from a column. A watermark `w` on an edge promises
 * that every row to come has a time greater than `w`. Behind a window the time of a row is its
 * `end`; an input whose time column is something else that follows from it (`start`, or the
 * time of a row that was joined) takes watermarks that are less by `shiftMs`.
 */
import type { Schema } from "./data-type.ts";
import type { Expr } from "./expr.ts";

export const planVersion = 1;

export interface Plan {
  readonly version: number;
  readonly nodes: readonly PlanNode[];
  readonly settings: QuerySettings;
}

export interface PlanNode {
  /** Its place in `Plan.nodes`. */
  readonly id: number;
  readonly inputs: readonly PlanInput[];
  readonly op: PlanOp;
  readonly schema: Schema;
}

export interface PlanInput {
  readonly node: number;
  /** Watermarks of this input are taken less this. */
  readonly shiftMs: number;
  /** Takes the rows that came too late for the node, with how late, and not those that it gives. */
  readonly isLate?: true;
}

export type PlanOp =
  | SourceOp
  | { readonly kind: "eventTime"; readonly column: number; readonly boundMs: number }
  | { readonly kind: "filter"; readonly predicate: Expr }
  | { readonly kind: "project"; readonly exprs: readonly Expr[] }
  | { readonly kind: "union" }
  | WindowAggregateOp
  | PartialAggregateOp
  | WindowJoinOp
  | IntervalJoinOp
  | LookupJoinOp
  | TopNOp
  | KeyedOp
  | ExchangeOp
  | SinkOp;

export type Settings = Readonly<Record<string, string | number | boolean>>;

/** One physical source. A logical source with several of them becomes a union. */
export interface SourceOp {
  readonly kind: "source";
  /** The logical source's name, for people. */
  readonly name: string;
  /** The connector's type, as its descriptor spells it. */
  readonly type: string;
  readonly config: Settings;
  /** The format and its settings; `TYPE` is among them. */
  readonly parser: Settings;
  /** The whole record. */
  readonly record: Schema;
  /** Which fields of the record are read: the node's columns, in this order. */
  readonly columns: readonly number[];
  /** Whether the time of reading follows as a last column, UINT64 in milliseconds. */
  readonly ingestionTime: boolean;
}

export type WindowSpec =
  | { readonly kind: "tumbling"; readonly sizeMs: number }
  /** With an advance greater than the size there are gaps between windows. */
  | { readonly kind: "sliding"; readonly sizeMs: number; readonly advanceMs: number }
  | { readonly kind: "session"; readonly gapMs: number };

export type AggregateFunction =
  /** The rows. */
  | "count_all"
  /** The values that are not NULL. */
  | "count"
  | "sum"
  | "min"
  | "max"
  | "avg"
  | "median"
  | "stddev_samp"
  | "stddev_pop"
  | "var_samp"
  | "var_pop"
  /** By event time, ties by arrival. */
  | "first"
  | "last";

export interface AggregateCall {
  readonly fn: AggregateFunction;
  /** Absent for `count_all`. */
  readonly arg: number | undefined;
  /** A BOOLEAN column: only rows where it is true count. */
  readonly filter: number | undefined;
  readonly distinct: boolean;
}

/** Its schema: `start`, `end`, the keys, the aggregates. NULL is a key like any other. */
export interface WindowAggregateOp {
  readonly kind: "windowAggregate";
  readonly window: WindowSpec;
  readonly time: number;
  readonly keys: readonly number[];
  readonly aggregates: readonly AggregateCall[];
}

/**
 * The half of an aggregation in front of an exchange. Its schema: the bounds of a slice, the keys,
 * the aggregates of the slice's rows so far; a slice and key may come several times.
 */
export interface PartialAggregateOp {
  readonly kind: "partialAggregate";
  readonly window: Exclude<WindowSpec, { readonly kind: "session" }>;
  readonly time: number;
  readonly keys: readonly number[];
  readonly aggregates: readonly AggregateCall[];
}

export type JoinKind = "inner" | "left" | "right" | "full";

/** Two columns of one type. NULL equals nothing, unless `nullSafe`. */
export interface JoinKey {
  readonly left: number;
  readonly right: number;
  readonly nullSafe: boolean;
}

/** Its schema: `start`, `end`, the columns of the left input, those of the right one. */
export interface WindowJoinOp {
  readonly kind: "windowJoin";
  readonly join: JoinKind;
  readonly window: Exclude<WindowSpec, { readonly kind: "session" }>;
  readonly leftTime: number;
  readonly rightTime: number;
  readonly keys: readonly JoinKey[];
  /** Over the columns of the left input and then those of the right one. */
  readonly residual: Expr | undefined;
}

/** Pairs with `lowerMs <= right time - left time <= upperMs`. Its schema: left, then right. */
export interface IntervalJoinOp {
  readonly kind: "intervalJoin";
  readonly leftTime: number;
  readonly rightTime: number;
  readonly lowerMs: number;
  readonly upperMs: number;
  readonly keys: readonly JoinKey[];
  readonly residual: Expr | undefined;
}

/** Joins with the newest version of a lake table. Its schema: the input, then the table. */
export interface LookupJoinOp {
  readonly kind: "lookupJoin";
  readonly join: "inner" | "left";
  readonly table: string;
  readonly columns: Schema;
  readonly keys: readonly JoinKey[];
  readonly residual: Expr | undefined;
}

export interface SortKey {
  readonly column: number;
  readonly descending: boolean;
}

/** The first `limit` rows of each partition of each window; its schema is the input's. */
export interface TopNOp {
  readonly kind: "topN";
  /** The columns of the window below. */
  readonly start: number;
  readonly end: number;
  readonly partition: readonly number[];
  readonly order: readonly SortKey[];
  readonly limit: number;
}

/** State for each key, forgotten when the key was not seen for `ttlMs` of event time. */
export interface KeyedOp {
  readonly kind: "keyed";
  readonly keys: readonly number[];
  readonly time: number;
  readonly ttlMs: number | undefined;
  readonly fn: /** Adds the column `arg` of the row `offset` rows before, or NULL. */
    | { readonly kind: "lag"; readonly arg: number; readonly offset: number }
    /** Adds the newest value of `arg` that is not NULL. */
    | { readonly kind: "lastValue"; readonly arg: number }
    /** Lets the first row of a key pass. */
    | { readonly kind: "deduplicate" };
}

/** Where a plan is cut into fragments. */
export interface ExchangeOp {
  readonly kind: "exchange";
  /** Rows of equal keys meet in one instance; without keys all rows meet in the first one. */
  readonly keys: readonly number[];
}

export interface SinkOp {
  readonly kind: "sink";
  readonly name: string;
  readonly type: string;
  readonly config: Settings;
  /** The format and its settings; `TYPE` is among them. */
  readonly formatter: Settings;
}

export type LatePolicy = "drop" | "side" | "fail";

/** The settings of a query, with their defaults filled in. */
export interface QuerySettings {
  readonly late: LatePolicy;
  /** With `side`: the node that receives late rows and their lateness. */
  readonly lateSink: number | undefined;
  readonly idleTimeoutMs: number;
  readonly parallelism: number;
  readonly checkpointIntervalMs: number;
  /** These three are absent in plans of older versions. */
  readonly checkpointPauseMs?: number;
  readonly checkpointTimeoutMs?: number;
  readonly checkpointsKept?: number;
  /** How long fragments wait for their worker; absent in plans of older versions. */
  readonly replaceAfterMs?: number;
  /** The size of read buffers, and the largest fixed-width row. */
  readonly bufferBytes: number;
  readonly memoryBytesMax: number;
}
