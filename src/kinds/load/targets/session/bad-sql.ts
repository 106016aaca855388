/**
 * What the person is told of SQL that a target refuses: which operation, which statement, as they
 * wrote it.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Operation, OperationStatement } from "../../core/operation.ts";
import { namedSqlOf } from "../named-sql.ts";

export function badSql(
  operation: Operation,
  statement: OperationStatement,
  message: string,
): OperatingError {
  const number = operation.statements.indexOf(statement) + 1;
  return new OperatingError(
    "bad_sql",
    "never",
    `operation ${operation.name}, statement ${number}: ${message}`,
    { hint: namedSqlOf(operation, statement) },
  );
}
