/** SHOW and DESCRIBE: the lake's if they name a table, DuckDB's if they describe a query. */
import type { Statement } from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";
import { parseQuery } from "./query.ts";

/** `others` are the other kinds' words after SHOW, for errors. */
export function parseShow(cursor: TokenCursor, others: readonly string[]): Statement {
  cursor.expect("SHOW");
  if (cursor.take("ALL", "TABLES") || cursor.take("TABLES")) {
    if (cursor.isAt("FROM")) throw cursor.fail("SHOW TABLES FROM is not supported");
    return ended(cursor, { kind: "showTables" });
  }
  if (cursor.take("SNAPSHOTS")) return ended(cursor, { kind: "showSnapshots" });
  const what = ["TABLES", ...others, "SNAPSHOTS or the name of a table"].join(", ");
  if (["DATABASES", "SCHEMAS", "VARIABLES"].includes(cursor.keyword())) {
    throw cursor.fail(`SHOW ${cursor.keyword()} is not supported`, `There is SHOW ${what}.`);
  }
  if (!cursor.isAtName()) throw cursor.unexpected(what);
  return describe(cursor);
}

/** DESCRIBE or DESC. A table alone is the lake's, a SELECT is DuckDB's. */
export function parseDescribe(cursor: TokenCursor): Statement {
  const isAlone = cursor.peek(1) === undefined;
  if (isAlone) return { kind: "showTables" }; // As in DuckDB.
  const skipped = cursor.keyword(1) === "TABLE" ? 2 : 1; // The word TABLE is optional.
  if (!isNameToEnd(cursor, skipped)) return parseQuery(cursor);
  for (let taken = 0; taken < skipped; taken += 1) cursor.next();
  return describe(cursor);
}

/** Whether `name` or `schema.name` ends the statement. */
function isNameToEnd(cursor: TokenCursor, ahead: number): boolean {
  const kindAt = (at: number) => cursor.peek(at)?.kind;
  const isName = (at: number) => kindAt(at) === "quotedName" || kindAt(at) === "word";
  if (!isName(ahead)) return false;
  if (cursor.peek(ahead + 1) === undefined) return true;
  return (
    cursor.isAtSymbol(".", ahead + 1) && isName(ahead + 2) && cursor.peek(ahead + 3) === undefined
  );
}

function describe(cursor: TokenCursor): Statement {
  return ended(cursor, { kind: "describeTable", table: cursor.tableName() });
}

function ended(cursor: TokenCursor, statement: Statement): Statement {
  cursor.end();
  return statement;
}
