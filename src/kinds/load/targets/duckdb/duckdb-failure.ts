/**
 * DuckDB has no codes: an error's class is the first words of its message (`Constraint Error: …`).
 */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { refusedTargetSql } from "../../core/check-target-sql.ts";
import type { FailureKind, OperationFailure } from "../../core/target.ts";

const kinds: Readonly<Record<string, FailureKind>> = {
  Constraint: "constraint",
  Parser: "syntax",
  Binder: "syntax",
  Catalog: "syntax",
  INTERRUPT: "timeout",
  "Out of Memory": "resources",
  IO: "resources",
  Permission: "permission",
  Connection: "connection",
  FATAL: "connection",
  TransactionContext: "serialization",
  Transaction: "serialization",
};

/** Without any value: of what may quote one, the quotes go, or everything. */
export function duckdbFailureOf(thrown: unknown): OperationFailure {
  const message = messageOf(thrown);
  const code = /^([A-Za-z ]+?) Error: /.exec(message)?.[1] ?? "unknown";
  const kind = kinds[code] ?? "other";
  switch (kind) {
    case "syntax":
      return { kind, code, message: firstLine(message) };
    case "serialization":
      // A key that two transactions inserted is found at COMMIT.
      return {
        kind: /constraint/i.test(message) ? "constraint" : kind,
        code,
        message: withoutValues(firstLine(message)),
      };
    case "constraint":
      return { kind, code, message: withoutValues(firstLine(message)) };
    default:
      return { kind, code, message: `refused by DuckDB: ${code} Error` };
  }
}

export function duckdbError(thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const { kind, code, message } = duckdbFailureOf(thrown);
  if (kind === "syntax") return new OperatingError("bad_sql", "never", messageOf(thrown));
  // What the instance is closed to (DK5), in whatever words it was asked for.
  if (kind === "permission") return refusedTargetSql("duckdb", message);
  if (code === "Out of Memory") return new OperatingError("statement_too_large", "never", message);
  return new OperatingError(
    "query_failed",
    kind === "serialization" ? "backoff" : "never",
    message,
  );
}

function firstLine(message: string): string {
  return message.split("\n", 1)[0] ?? "";
}

function withoutValues(message: string): string {
  return message.replace(/(["']).*\1|\b[\d.]*\d\b/gs, "…");
}
