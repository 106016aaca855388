/**
 * What SQLite itself refuses a load test, whatever a statement's text looks like and wherever it
 * stands (a view, a trigger): see TX1 in `core/check-target-sql.ts`. Rules: SL5.
 */
import { constants, type DatabaseSync } from "node:sqlite";
import { assert } from "../../../../ground/kernel/errors.ts";
import { isPragmaTable, isRefusedFunction } from "../../core/check-target-sql.ts";

/** What full-text search and ANALYZE ask of themselves, and what only reads or tidies. */
const pragmasAllowed: ReadonlySet<string> = new Set([
  ...["data_version", "optimize", "page_size", "table_info", "table_xinfo", "table_list"],
  ...["index_list", "index_info", "index_xinfo", "foreign_key_list"],
]);
const modulesAllowed = /^(fts[345]|rtree|rtree_i32|geopoly)$/i;

/** Once its own settings are made. */
export function closeIn(database: DatabaseSync): void {
  database.exec("PRAGMA trusted_schema = OFF");
  database.enableDefensive(true);
  database.enableLoadExtension(false);
  assert(typeof database.setAuthorizer === "function", "this Node's SQLite takes an authorizer");
  database.setAuthorizer((action, first, second) =>
    isAllowed(action, first, second) ? constants.SQLITE_OK : constants.SQLITE_DENY,
  );
}

function isAllowed(action: number, first: string | null, second: string | null): boolean {
  switch (action) {
    case constants.SQLITE_ATTACH:
      // VACUUM's own: a nameless temporary file. Text that is computed comes as null.
      return first === "";
    case constants.SQLITE_PRAGMA: {
      const name = first?.toLowerCase() ?? "";
      // A page size is read; setting it is a change.
      return pragmasAllowed.has(name) && (second === null || name !== "page_size");
    }
    case constants.SQLITE_READ:
      // Known when it is prepared; what it asks only when it runs.
      return !isPragmaTable(first ?? "");
    case constants.SQLITE_FUNCTION:
      return !isRefusedFunction("sqlite", second ?? "");
    case constants.SQLITE_CREATE_VTABLE:
      return modulesAllowed.test(second ?? "");
    default:
      return true;
  }
}
