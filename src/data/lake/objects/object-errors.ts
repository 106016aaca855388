/** Errors of the lake's files. Foreign errors are translated here and in `s3-errors.ts`. */
import { isDiskFull } from "../../../ground/kernel/disk-full.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { showCrc32 } from "./file-verifier.ts";

export function missing(place: string, cause?: unknown): OperatingError {
  return new OperatingError("not_found", "never", `the lake file ${place} is not there`, {
    cause,
    hint: "It was deleted behind the lake's back, or the snapshot that it belongs to has expired.",
  });
}

export function damaged(place: string, why: string): OperatingError {
  const message = `the lake file ${place} is damaged: ${why}`;
  return new OperatingError("data_corrupt", "never", message, { hint: damagedHint });
}

export const damagedHint =
  "Put the file back from a backup (capstan restore). capstan lake check names every damaged file.";

export function otherChecksum(place: string, wanted: number, found: number): OperatingError {
  return damaged(place, `its checksum is ${showCrc32(found)}, it was ${showCrc32(wanted)}`);
}

export function cancelled(place: string): OperatingError {
  return new OperatingError("cancelled", "never", `the transfer of ${place} was cancelled`);
}

export function throwIfCancelled(place: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(place);
}

/** `place` is the file's name in messages. */
export function translateFileError(thrown: unknown, place: string): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  if (isAbort(thrown)) return cancelled(place);
  if (isAbsent(thrown)) return missing(place, thrown);
  const code = codeOf(thrown);
  const message = `the lake file ${place}: ${messageOf(thrown)}`;
  if (isDiskFull(thrown)) {
    const full = `no room for the lake file ${place}: the disk is full`;
    return new OperatingError("disk_full", "backoff", full, { cause: thrown });
  }
  // Missing permissions and read-only disks are permanent.
  const isRefused = code === "EACCES" || code === "EPERM" || code === "EROFS";
  const retry = isRefused ? "never" : "backoff";
  return new OperatingError("store_unavailable", retry, message, { cause: thrown });
}

/** `ENOTDIR`: a parent of the path is a file, so the path does not exist either. */
export function isAbsent(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === "ENOENT" || code === "ENOTDIR";
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "AbortError";
}

export function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error && "code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}
