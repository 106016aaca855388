/**
 * A statement that keeps one of a worker's slots for so many seconds, without a need for memory or
 * a core: it sleeps, and ends at once when it is cancelled. The answer is known.
 */
export function slowSql(seconds: number): string {
  return `SELECT count(*) AS n FROM range(${slowSqlAnswer(seconds)}) WHERE sleep_ms(10) IS NULL`;
}

export function slowSqlAnswer(seconds: number): number {
  return Math.ceil(seconds * 100);
}
