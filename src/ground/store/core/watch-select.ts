/**
 * What a subscriber wants to see of one watched table, and the two questions asked of every row: does it
 * match, and what of it is shown. The filter is evaluated here and never by the database, so that both
 * databases give the same answer (their collations differ; text compares by UTF-16 code units here).
 */
import { unreachable } from "../../kernel/errors.ts";

export type WatchValue = string | number | null;
export type WatchRow = Readonly<Record<string, WatchValue>>;
export type ComparisonOp = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** As in SQL, a comparison with NULL is not true. */
export type WatchCondition =
  | {
      readonly kind: "compare";
      readonly column: string;
      readonly op: ComparisonOp;
      readonly value: string | number;
    }
  | {
      readonly kind: "in";
      readonly column: string;
      readonly values: readonly (string | number)[];
    }
  | { readonly kind: "null"; readonly column: string; readonly negated: boolean };

export interface WatchSelect {
  readonly table: string;
  /** The column that names a row of it. */
  readonly key: string;
  /** `undefined`: all. The column that names the row is always shown, so that a DROP can be understood. */
  readonly columns: readonly string[] | undefined;
  /** All must hold; none means that every row matches. */
  readonly where: readonly WatchCondition[];
}

export function matchesWatch(select: WatchSelect, row: WatchRow): boolean {
  return select.where.every((condition) => holds(condition, row[condition.column] ?? null));
}

export function projectWatch(select: WatchSelect, row: WatchRow): WatchRow {
  if (select.columns === undefined) return row;
  const { key } = select;
  const shown: Record<string, WatchValue> = { [key]: row[key] ?? null };
  for (const column of select.columns) shown[column] = row[column] ?? null;
  return shown;
}

function holds(condition: WatchCondition, value: WatchValue): boolean {
  switch (condition.kind) {
    case "compare":
      return value !== null && compares(value, condition.op, condition.value);
    case "in":
      return value !== null && condition.values.includes(value);
    case "null":
      return (value === null) !== condition.negated;
  }
}

function compares(left: string | number, op: ComparisonOp, right: string | number): boolean {
  switch (op) {
    case "=":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    default:
      return unreachable(op);
  }
}
