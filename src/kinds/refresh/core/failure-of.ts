/** Turns what a refresh threw into the failure that is reported. */

import { MissingFile } from "../../../data/lake/core/index.ts";
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { RefreshFailure } from "./refresh-claims.ts";

/** A part of the refresh failed too often. The part's error becomes the refresh's. */
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
 * Whether retrying is useless: the definition refers to something that is gone or changed, or a
 * value cannot be computed (a cast, a division, a number out of range).
 */
function isPermanent(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "bad_sql" && thrown.retry === "never";
}

/** Leaves our own bugs as an unhandled rejection, on purpose: it ends the process. */
export function rethrowBug(thrown: unknown): void {
  if (thrown instanceof AssertionError) throw thrown;
}

/** Another commit came first, and nothing of this one was done. */
export function isConflict(thrown: unknown): thrown is OperatingError {
  return thrown instanceof OperatingError && thrown.code === "conflict";
}
