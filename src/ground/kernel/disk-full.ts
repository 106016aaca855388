/**
 * Whether the operating system had no room. `EFBIG`: a limit on the size of files, which to us is
 * the same.
 */
export function isDiskFull(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
}
