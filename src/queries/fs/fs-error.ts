/** The file system's errors, translated once. */
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { withoutPaths } from "../core/index.ts";

export function translateFsError(thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const message = withoutPaths(messageOf(thrown));
  return isDiskFull(thrown)
    ? new OperatingError("disk_full", "backoff", message, { cause: thrown })
    : new OperatingError("query_failed", "backoff", message, { cause: thrown });
}

/** `EFBIG`: a limit on the size of files, which to us is the same. */
function isDiskFull(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
}
