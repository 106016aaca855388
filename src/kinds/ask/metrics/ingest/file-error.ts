/** Translates a system error for whoever asked a thread for something. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";

/** Undefined when it has no system error code; then it is our own bug. */
export function fileError(thrown: unknown): OperatingError | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  const isFull = thrown.code === "ENOSPC" || thrown.code === "EDQUOT";
  const code = isFull ? "disk_full" : "store_unavailable";
  return new OperatingError(code, "backoff", thrown.message);
}
