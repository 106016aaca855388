/** What a refresh that threw is told as. */

import { MissingFile } from "../../../data/lake/core/index.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { RefreshFailure } from "./refresh-claims.ts";

/** A part of it failed too often: its error is the refresh's. */
export class PartFailed extends Error {
  override readonly name = "PartFailed";
  readonly failure: RefreshFailure;

  constructor(failure: RefreshFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export function failureOf(thrown: unknown): RefreshFailure {
  if (thrown instanceof PartFailed) return thrown.failure;
  const code = thrown instanceof OperatingError ? thrown.code : "query_failed";
  const failure = { code, message: messageOf(thrown), isPermanent: isPermanent(thrown) };
  return thrown instanceof MissingFile ? { ...failure, missingPath: thrown.path } : failure;
}

/**
 * What the definition refers to is gone or not what it was, or a value does not do: a cast, a
 * division, a number out of range.
 */
function isPermanent(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "bad_sql" && thrown.retry === "never";
}

/** An unhandled rejection, on purpose. */
export function rethrowBug(thrown: unknown): void {
  if (thrown instanceof AssertionError) throw thrown;
}

/** What was computed no longer fits what is there; nothing of it was done. */
export function isConflict(thrown: unknown): thrown is OperatingError {
  return thrown instanceof OperatingError && thrown.code === "conflict";
}
