/** Paths, and values that differ by file, in SQL. Pure. */
import { quoteText } from "../../sql/core/index.ts";
/**
 * The paths of one `read_parquet`. DuckDB takes `[`, `*` and `?` for patterns, and the literal path
 * if no pattern matches. Escaping them would leave the directories that DuckDB may read, and names
 * that are used once need no escape.
 */
export function pathList(paths: readonly string[]): string {
  return `[${paths.map(quoteText).join(", ")}]`;
}

/** The value for the current file of `relation`. `values` are in the order of its paths. */
export function perFile(values: readonly number[], relation: string): string {
  const [first] = values;
  if (values.every((value) => value === first)) return `${first}::BIGINT`;
  return `CAST([${values.join(", ")}] AS BIGINT[])[${relation}.file_index::BIGINT + 1]`;
}
