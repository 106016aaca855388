/**
 * A definition as its refresh sees it: blocks (one SELECT each) and set operations, with every name resolved and every
 * expression a text. It holds nothing but data, so a plan can be stored.
 *
 *   RE1  A relation has *components*. A component is some columns of its output and, at a refresh, a set of values of them:
 *        the affected ones. A row none of whose components is affected is in the relation before and after, as often.
 *   RE2  A set may be too large, never too small.
 *   RE3  An expression names columns as `"leaf"."column"`, where `leaf` is one of its own block's FROM, and nothing else.
 */
import type { ColumnType } from "./sql-tool.ts";

/** An expression over the FROM of a block. */
export interface Value {
  readonly sql: string;
  /** The only leaf that it reads, if there is only one. */
  readonly leaf: string | undefined;
  /** It is this column of that leaf and nothing more. */
  readonly column: string | undefined;
}

/** Rows of one branch of a UNION ALL, where this is part of a component. */
export interface Guard {
  readonly column: string;
  readonly branch: number;
}

export interface Component {
  readonly id: number;
  /** Of the output: visible ones, or hidden ones. None: all rows share one fate. */
  readonly columns: readonly string[];
  readonly guards: readonly Guard[];
  /** Indices of the sources whose changes reach it. */
  readonly sources: readonly number[];
  /** The set is the ids of this source's changed rows; `undefined`: a table that the refresh computes. */
  readonly rowsOf: number | undefined;
}

export interface SourceLeaf {
  readonly kind: "source";
  readonly leaf: string;
  readonly id: number;
  readonly source: number;
  /** As the table has them, and as the definition calls them. */
  readonly columns: readonly { readonly name: string; readonly as: string }[];
  readonly rowId: string;
}

export interface RelationLeaf {
  readonly kind: "relation";
  readonly leaf: string;
  readonly relation: Relation;
  readonly columns: readonly { readonly name: string; readonly as: string }[];
}

/** Reads no source: VALUES, a constant. */
export interface FixedLeaf {
  readonly kind: "fixed";
  readonly leaf: string;
  readonly sql: string;
}

export type Leaf = SourceLeaf | RelationLeaf | FixedLeaf;
export type JoinKind = "INNER" | "LEFT" | "RIGHT" | "FULL" | "SEMI" | "ANTI";

/** Equalities of a join's condition: what a row of one side can match is among the rows of the same key on the other. */
export interface JoinKey {
  readonly id: number;
  readonly left: readonly Value[];
  readonly right: readonly Value[];
  /** The key of a row of the join's result. */
  readonly result: readonly Value[];
  readonly sources: readonly number[];
}

export interface Join {
  readonly kind: "join";
  readonly join: JoinKind;
  readonly left: From;
  readonly right: From;
  /** `undefined`: every pair. */
  readonly condition: string | undefined;
  /** Of other joins than inner ones, unless nothing on that side can change. */
  readonly key: JoinKey | undefined;
}

export type From = Leaf | Join;

export interface Item {
  readonly name: string;
  readonly value: Value;
  /** Rows may be chosen by it before they are grouped, or met by windows. */
  readonly isRowKey: boolean;
}

export interface Block {
  readonly kind: "block";
  readonly columns: readonly ColumnType[];
  readonly from: From | undefined;
  readonly where: string | undefined;
  readonly items: readonly Item[];
  /** `undefined`: no aggregates. Empty: one group, which is there even without rows. */
  readonly groupBy: readonly Value[] | undefined;
  readonly having: string | undefined;
  readonly qualify: string | undefined;
  /** Group keys, or what all windows are partitioned by: rows of other values never meet. */
  readonly own: { readonly id: number; readonly keys: readonly Value[] } | undefined;
  readonly hidden: readonly { readonly name: string; readonly sql: string }[];
  readonly components: readonly Component[];
}

export type SetOperator = "UNION ALL" | "EXCEPT" | "EXCEPT ALL" | "INTERSECT" | "INTERSECT ALL";

export interface SetOperation {
  readonly kind: "set";
  readonly operator: SetOperator;
  readonly columns: readonly ColumnType[];
  readonly branches: readonly Relation[];
  /** UNION ALL: the column that says which branch a row is from. */
  readonly branchColumn: string | undefined;
  /** The others: equal rows never part. */
  readonly own: number | undefined;
  /** UNION ALL: what one branch has besides its visible columns; NULL in rows of the others. */
  readonly hidden: readonly {
    readonly name: string;
    readonly branch: number;
    readonly column: string;
  }[];
  readonly components: readonly Component[];
}

export type Relation = Block | SetOperation;

/** A component inside a block's FROM, in expressions of it. */
export interface FromComponent extends Omit<Component, "columns" | "guards"> {
  readonly values: readonly Value[];
  readonly guards: readonly { readonly sql: string; readonly branch: number }[];
}

export function hiddenColumns(relation: Relation): readonly string[] {
  const names = relation.hidden.map(({ name }) => name);
  if (relation.kind === "block" || relation.branchColumn === undefined) return names;
  return [relation.branchColumn, ...names];
}

export function leavesOf(from: From): readonly Leaf[] {
  return from.kind === "join" ? [...leavesOf(from.left), ...leavesOf(from.right)] : [from];
}
