/**
 * A definition as its refresh sees it: blocks (one SELECT each) and set operations, with every name
 * resolved and every expression a text. It is plain data, so a plan can be stored.
 *
 * A relation has *components*: some of its output columns and, at a refresh, the set of their
 * affected values. A row with no affected component is in the relation before and after, equally
 * often. A set may be too large, never too small. An expression names columns only as
 * `"leaf"."column"`, where `leaf` is in its own block's FROM.
 */
import type { ColumnType } from "./sql-tool.ts";

/** An expression over the FROM of a block. */
export interface Value {
  readonly sql: string;
  /** The leaf that it reads, if it reads exactly one. */
  readonly leaf: string | undefined;
  /** Set when the expression is just this column of the leaf. */
  readonly column: string | undefined;
}

/** Limits a component to the rows of one branch of a UNION ALL. */
export interface Guard {
  readonly column: string;
  readonly branch: number;
}

export interface Component {
  readonly id: number;
  /** Output columns, visible or hidden. Without any, all rows are affected together. */
  readonly columns: readonly string[];
  readonly guards: readonly Guard[];
  /** Indices of the sources whose changes reach it. */
  readonly sources: readonly number[];
  /** The source whose changed row ids are the set. Undefined: the refresh computes the set. */
  readonly rowsOf: number | undefined;
}

export interface SourceLeaf {
  readonly kind: "source";
  readonly leaf: string;
  readonly id: number;
  readonly source: number;
  /** Each column's name in the table, and its name in the definition. */
  readonly columns: readonly { readonly name: string; readonly as: string }[];
  readonly rowId: string;
}

export interface RelationLeaf {
  readonly kind: "relation";
  readonly leaf: string;
  readonly relation: Relation;
  readonly columns: readonly { readonly name: string; readonly as: string }[];
}

/** A leaf that reads no source, such as VALUES. */
export interface FixedLeaf {
  readonly kind: "fixed";
  readonly leaf: string;
  readonly sql: string;
}

export type Leaf = SourceLeaf | RelationLeaf | FixedLeaf;
export type JoinKind = "INNER" | "LEFT" | "RIGHT" | "FULL" | "SEMI" | "ANTI";

/** Equalities of a join's condition. A row matches only rows of the other side with its key. */
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
  /** Undefined for a cross join. */
  readonly condition: string | undefined;
  /** Set for joins other than inner ones, unless nothing on that side can change. */
  readonly key: JoinKey | undefined;
}

export type From = Leaf | Join;

export interface Item {
  readonly name: string;
  readonly value: Value;
  /** Whether rows may be filtered by it before groups and windows. */
  readonly isRowKey: boolean;
}

export interface Block {
  readonly kind: "block";
  readonly columns: readonly ColumnType[];
  readonly from: From | undefined;
  readonly where: string | undefined;
  readonly items: readonly Item[];
  /** Undefined without aggregates. Empty for one group, which exists even without rows. */
  readonly groupBy: readonly Value[] | undefined;
  readonly having: string | undefined;
  readonly qualify: string | undefined;
  /** Group keys, or the windows' common partition. Rows with other values never meet. */
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
  /** For UNION ALL: the column that says which branch a row is from. */
  readonly branchColumn: string | undefined;
  /** For other set operations: the component of all columns. */
  readonly own: number | undefined;
  /** For UNION ALL: hidden columns of one branch, which are NULL in rows of the others. */
  readonly hidden: readonly {
    readonly name: string;
    readonly branch: number;
    readonly column: string;
  }[];
  readonly components: readonly Component[];
}

export type Relation = Block | SetOperation;

/** A component inside a block's FROM, in terms of its expressions. */
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
