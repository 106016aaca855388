/**
 * Whether the operating system had no room. `EFBIG`, a limit on file sizes, is treated the same.
 */
export function isDiskFull(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
}
