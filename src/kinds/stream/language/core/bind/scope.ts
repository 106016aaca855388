/** The columns that an expression can name. */
import type { DataType } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import { didYouMean } from "../suggest.ts";
import { column } from "./exprs.ts";

export interface ScopeColumn {
  readonly name: string;
  /** The source or the alias that it can be qualified with. */
  readonly qualifier: string | undefined;
  readonly type: DataType;
  /** `start` and `end` of the nearest window go before columns of the same name. */
  readonly isWindowBound?: boolean;
}

/** Rows of a node of the plan: the column of a name is that at the same place. */
export interface Relation {
  readonly node: number;
  readonly columns: readonly ScopeColumn[];
}

export function isSameName(left: string, right: string): boolean {
  return left === right || left.toUpperCase() === right.toUpperCase();
}

/** Where a name stands; throws where it is unknown or means several columns. */
export function findColumn(
  columns: readonly ScopeColumn[],
  qualifier: string | undefined,
  name: string,
  position: Position,
): number {
  const found = matchingColumns(columns, qualifier, name);
  if (found.length === 1) return found[0] as number;
  if (found.length === 0) throw unknownColumn(columns, qualifier, name, position);
  const bound = found.find((index) => columns[index]?.isWindowBound === true);
  if (bound !== undefined) return bound;
  throw new DialectError(2003, `the column ${name} is ambiguous`, {
    position,
    hint: `Qualify it: ${found.map((index) => qualifiedName(columns[index] as ScopeColumn)).join(" or ")}.`,
  });
}

export function matchingColumns(
  columns: readonly ScopeColumn[],
  qualifier: string | undefined,
  name: string,
): readonly number[] {
  return columns.flatMap((candidate, index) => {
    if (!isSameName(candidate.name, name)) return [];
    return qualifier === undefined || isQualifiedBy(candidate, qualifier) ? [index] : [];
  });
}

export function isQualifiedBy(candidate: ScopeColumn, qualifier: string): boolean {
  return candidate.qualifier !== undefined && isSameName(candidate.qualifier, qualifier);
}

export function columnAt(columns: readonly ScopeColumn[], index: number): Expr {
  return column(index, (columns[index] as ScopeColumn).type);
}

function qualifiedName(candidate: ScopeColumn): string {
  return candidate.qualifier === undefined
    ? candidate.name
    : `${candidate.qualifier}.${candidate.name}`;
}

function unknownColumn(
  columns: readonly ScopeColumn[],
  qualifier: string | undefined,
  name: string,
  position: Position,
): DialectError {
  if (qualifier !== undefined && !columns.some((one) => isQualifiedBy(one, qualifier))) {
    return unknownQualifier(columns, qualifier, position);
  }
  const names = columns.map((one) => one.name);
  return new DialectError(2003, `there is no column ${name}`, {
    position,
    hint: didYouMean(name, names) ?? `The columns are ${names.slice(0, 20).join(", ")}.`,
  });
}

export function unknownQualifier(
  columns: readonly ScopeColumn[],
  qualifier: string,
  position: Position,
): DialectError {
  const known = new Set(columns.flatMap((one) => one.qualifier ?? []));
  return new DialectError(2000, `there is no source ${qualifier} in this query`, {
    position,
    hint: didYouMean(qualifier, known),
  });
}
