/**
 * What the person is told of SQL that a target refuses: which operation, which statement, as they
 * wrote it.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Operation, OperationStatement, ParameterType } from "../../core/operation.ts";
import type { OperationFailure } from "../../core/target.ts";
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

/** For what a person asked, by the kind of failure. `text` is the server's words. */
export function errorOfFailure(
  { kind, message }: Pick<OperationFailure, "kind" | "message">,
  text: string,
  options?: { readonly cause: unknown },
): OperatingError {
  if (kind === "syntax") return new OperatingError("bad_sql", "never", text, options);
  if (kind === "permission") return new OperatingError("target_refused", "never", message, options);
  if (kind === "connection") {
    return new OperatingError("target_unreachable", "backoff", message, options);
  }
  const isPassing = !(kind === "constraint" || kind === "other");
  return new OperatingError("query_failed", isPassing ? "backoff" : "never", message, options);
}

/** The parameters of a statement, in its order. */
export function typedParameters(
  { parameters }: Operation,
  statement: OperationStatement,
): readonly { readonly index: number; readonly type: ParameterType }[] {
  return statement.parameters.map((index) => ({ index, type: parameters[index]?.type ?? "text" }));
}
