/** A moment as ISO 8601 in UTC, with milliseconds. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
