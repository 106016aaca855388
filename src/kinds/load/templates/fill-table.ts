/**
 * An INSERT of numbered rows in each dialect: `i` counts from 1 to `rows * :scale`, or to `rows`
 * where they do not follow the scale.
 */
import type { StatementText } from "./document.ts";

/** `rows` is a power of ten. `columns`: expressions over `i`. */
export function filled(
  table: string,
  columns: string,
  rows: number,
  options: { readonly isScaled?: boolean } = {},
): StatementText {
  const isScaled = options.isScaled ?? true;
  const last = isScaled ? `${rows} * :scale` : String(rows);
  const insert = `INSERT INTO ${table}`;
  const series = `${insert} SELECT ${columns} FROM generate_series(1, ${last}) AS g(i)`;
  return {
    postgres: series,
    duckdb: series,
    sqlite: `${insert} WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < ${last}) SELECT ${columns} FROM g`,
    mysql: `${insert} SELECT ${columns} FROM (${mysqlNumbers(rows, isScaled)}) AS g`,
  };
}

const digits =
  "SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9";

/**
 * MySQL and MariaDB bound recursion, the latter silently: digits multiply instead. The scale has at
 * most five of them.
 */
function mysqlNumbers(rows: number, isScaled: boolean): string {
  const places = Math.round(Math.log10(rows));
  const own = places === 0 ? "0" : product("n", places);
  if (!isScaled) return `SELECT 1 + ${own} AS i FROM ${tables("n", places)}`;
  // The LIMIT keeps it a table of its own: merged into the join, its condition would come last.
  const scales = `(SELECT ${product("s", 5)} AS s FROM ${tables("s", 5)} WHERE ${product("s", 5)} < :scale LIMIT 100000) AS scales`;
  const from = places === 0 ? scales : `${scales}, ${tables("n", places)}`;
  return `SELECT 1 + ${own} + ${rows} * scales.s AS i FROM ${from}`;
}

function product(name: string, places: number): string {
  return Array.from({ length: places }, (_, at) => `${name}${at}.d * ${10 ** at}`).join(" + ");
}

function tables(name: string, places: number): string {
  return Array.from({ length: places }, (_, at) => `(${digits}) AS ${name}${at}`).join(", ");
}
