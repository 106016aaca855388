/** What an error of the system's calls means for whoever asked a thread for something. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";

/** `undefined`: it has no code of the system's, and is our own bug. */
export function fileError(thrown: unknown): OperatingError | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  const isFull = thrown.code === "ENOSPC" || thrown.code === "EDQUOT";
  const code = isFull ? "disk_full" : "store_unavailable";
  return new OperatingError(code, "backoff", thrown.message);
}
