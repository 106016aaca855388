/** Translates errors of the file system. */
import { isDiskFull } from "../../kernel/disk-full.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { withoutPaths } from "../../kernel/without-paths.ts";

export function translateFsError(thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const message = withoutPaths(messageOf(thrown));
  return isDiskFull(thrown)
    ? new OperatingError("disk_full", "backoff", message, { cause: thrown })
    : new OperatingError("query_failed", "backoff", message, { cause: thrown });
}
