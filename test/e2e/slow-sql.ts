/**
 * A statement that keeps a worker busy for about so many seconds, of which it needs no memory. The
 * answer is known.
 */
export function slowSql(seconds: number): string {
  const outer = Math.ceil(seconds * 1_500);
  return `SELECT count(*) AS n FROM range(${outer}) AS a, range(100000) AS b WHERE (a.range * b.range) % 7 <> 8`;
}

export function slowSqlAnswer(seconds: number): number {
  return Math.ceil(seconds * 1_500) * 100_000;
}
