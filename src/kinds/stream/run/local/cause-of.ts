/** Why a query failed, of all that its fragments complained about. */
import { DialectError } from "../../language/core/index.ts";

/** That an edge broke is the effect of something else, where anything else is known. */
export function isEffect(failure: unknown): boolean {
  return failure instanceof DialectError && failure.number === 4001;
}

export function causeOf(failures: readonly unknown[]): unknown {
  return failures.find((failure) => !isEffect(failure)) ?? failures[0];
}
