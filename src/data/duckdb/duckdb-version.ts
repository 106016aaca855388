/** DuckDB's version, without loading DuckDB. */
import { createRequire } from "node:module";

/** The native package of `@duckdb/node-api`, with DuckDB's version. */
const bindings = "@duckdb/node-bindings";

/** The same text as `SELECT version()`. */
export function duckdbVersion(): string {
  const require = createRequire(import.meta.url);
  const packageFile = `${bindings}/package.json`;
  const { version } = require(packageFile) as { readonly version: string };
  return `v${version.replace(/-.*$/, "")}`;
}
