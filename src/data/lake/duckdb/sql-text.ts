/** Paths, and what differs from file to file, as DuckDB reads them. Pure. */
import { quoteText } from "../../sql/core/index.ts";
/**
 * Paths of one `read_parquet`. DuckDB takes `[`, `*` and `?` for patterns, and a path as it is where no pattern matches. To
 * escape them would put the files outside of the directories that DuckDB is allowed; names that are used once need not be.
 */
export function pathList(paths: readonly string[]): string {
  return `[${paths.map(quoteText).join(", ")}]`;
}

/** The value for the file at hand of a `read_parquet` called `relation`: `values` are in the order of its paths. */
export function perFile(values: readonly number[], relation: string): string {
  const [first] = values;
  if (values.every((value) => value === first)) return `${first}::BIGINT`;
  return `CAST([${values.join(", ")}] AS BIGINT[])[${relation}.file_index::BIGINT + 1]`;
}
