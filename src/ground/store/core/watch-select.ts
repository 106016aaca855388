/**
 * A subscriber's filter and columns of one watched table. The filter is evaluated here and never by
 * the database, so that both databases give the same result. (Their collations differ; here text
 * compares by UTF-16 code units.)
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
  /** The column that identifies a row. */
  readonly key: string;
  /** Undefined for all. The key column is always shown, so that a DROP can be understood. */
  readonly columns: readonly string[] | undefined;
  /** The name under which the key is shown instead of its own. */
  readonly keyAs?: string | undefined;
  /** All must hold. Without any, every row matches. */
  readonly where: readonly WatchCondition[];
}

export function matchesWatch(select: WatchSelect, row: WatchRow): boolean {
  return select.where.every((condition) => holds(condition, row[condition.column] ?? null));
}

export function projectWatch(select: WatchSelect, row: WatchRow): WatchRow {
  if (select.columns === undefined) return row;
  const { key, keyAs = key } = select;
  const shown: Record<string, WatchValue> = { [keyAs]: row[key] ?? null };
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
