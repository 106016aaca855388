/**
 * A statement as people wrote it, `:name` for parameters, so that a position or a hint means
 * something to them.
 */
import type { Operation, OperationStatement } from "../core/operation.ts";

export function namedSqlOf(operation: Operation, statement: OperationStatement): string {
  return statement.texts.reduce(
    (sql, text, index) => `${sql}${placeholderOf(operation, statement, index - 1)}${text}`,
  );
}

export function placeholderOf(
  operation: Operation,
  statement: OperationStatement,
  at: number,
): string {
  return `:${operation.parameters[statement.parameters[at] ?? -1]?.name ?? "?"}`;
}
