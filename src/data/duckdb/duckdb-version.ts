/** Which DuckDB this is, without loading it: a process that only wants to know needs none. */
import { createRequire } from "node:module";

/** What `@duckdb/node-api` brings along, of the version of DuckDB that is in it. */
const bindings = "@duckdb/node-bindings";

/** As `SELECT version()` says it. */
export function duckdbVersion(): string {
  const require = createRequire(import.meta.url);
  const packageFile = `${bindings}/package.json`;
  const { version } = require(packageFile) as { readonly version: string };
  return `v${version.replace(/-.*$/, "")}`;
}
