/** INSERT, UPDATE, DELETE. */
import type { Statement, TextSpan } from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";
import { selectToEnd } from "./query.ts";

/** After INSERT. */
export function parseInsert(cursor: TokenCursor): Statement {
  if (cursor.isAt("OR")) throw cursor.fail(`INSERT OR ${cursor.keyword(1)} is not supported`);
  cursor.expect("INTO");
  const table = cursor.tableName();
  if (cursor.isAt("AS")) throw cursor.fail("a table has no other name in an INSERT");
  // A bracket that opens a query (`INSERT INTO t (SELECT …)`) names no columns.
  const columns = cursor.isAtSymbol("(") && !opensQuery(cursor) ? cursor.columnNames() : undefined;
  const byName = cursor.isAt("BY", "NAME");
  if (byName && columns !== undefined) {
    throw cursor.fail("BY NAME and names of columns do not go together", "Leave one of them out.");
  }
  if (!cursor.take("BY", "NAME")) cursor.take("BY", "POSITION"); // The default anyway.
  if (cursor.isAt("DEFAULT", "VALUES")) {
    const hint = "Name a column and its value; the others get their defaults.";
    throw cursor.fail("DEFAULT VALUES is not supported", hint);
  }
  const what = columns === undefined ? "the table's name" : "the columns";
  if (cursor.isAt("VALUES")) refuseDefaults(cursor);
  return { kind: "insert", table, columns, byName, query: selectToEnd(cursor, what) };
}

function opensQuery(cursor: TokenCursor): boolean {
  let ahead = 1;
  while (cursor.isAtSymbol("(", ahead)) ahead += 1;
  const words = ["SELECT", "FROM", "WITH", "TABLE", "PIVOT", "UNPIVOT"];
  if (words.includes(cursor.keyword(ahead))) return true;
  // A column may be called values.
  return cursor.keyword(ahead) === "VALUES" && cursor.isAtSymbol("(", ahead + 1);
}

/** Refuses `VALUES (1, DEFAULT)`. The word is reserved, so nothing else is called so. */
function refuseDefaults(cursor: TokenCursor): void {
  for (let ahead = 1; cursor.peek(ahead) !== undefined; ahead += 1) {
    if (cursor.keyword(ahead) !== "DEFAULT") continue;
    const hint = "Leave the column out of the list of columns: it gets its default.";
    throw cursor.fail("DEFAULT among VALUES is not supported", hint, ahead);
  }
}

/** After UPDATE. */
export function parseUpdate(cursor: TokenCursor): Statement {
  const table = cursor.tableName();
  const alias = takeAlias(cursor, ["SET"]);
  cursor.expect("SET");
  const set = assignments(cursor);
  const from = cursor.take("FROM") ? clause(cursor, "a table after FROM") : undefined;
  const where = takeWhere(cursor);
  return { kind: "update", table, alias, set, from, where };
}

function assignments(cursor: TokenCursor): { column: string; value: TextSpan }[] {
  const set: { column: string; value: TextSpan }[] = [];
  const seen = new Set<string>();
  const isAtClause = () => isClause(cursor);
  do {
    if (set.length > 0 && (cursor.isAtEnd || isAtClause())) break; // Trailing commas are allowed.
    if (cursor.isAtSymbol("(")) {
      throw cursor.fail("SET (a, b) = … is not supported", "Write SET a = …, b = ….");
    }
    const column = cursor.columnName(seen);
    if (cursor.isAtSymbol(".")) {
      throw cursor.fail(
        "a column's name stands alone after SET",
        "Leave out what is before the dot.",
      );
    }
    if (cursor.isAtSymbol("[")) throw cursor.fail("parts of a column cannot be set");
    cursor.expectSymbol("=");
    if (cursor.isAt("DEFAULT")) throw cursor.fail("SET … = DEFAULT is not supported");
    const isEnd = () => cursor.isAtSymbol(",") || isAtClause();
    set.push({ column, value: cursor.spanUntil(isEnd, `a value for ${column}`) });
  } while (cursor.takeSymbol(","));
  return set;
}

/** Whether FROM, WHERE or RETURNING is next, except the FROM of IS DISTINCT FROM. */
function isClause(cursor: TokenCursor): boolean {
  const keyword = cursor.keyword();
  if (keyword === "FROM") return cursor.keyword(-1) !== "DISTINCT";
  return keyword === "WHERE" || keyword === "RETURNING";
}

/** After DELETE. */
export function parseDelete(cursor: TokenCursor): Statement {
  cursor.expect("FROM");
  const table = cursor.tableName();
  const alias = takeAlias(cursor, []);
  const using = cursor.take("USING") ? clause(cursor, "a table after USING") : undefined;
  return { kind: "delete", table, alias, using, where: takeWhere(cursor) };
}

/** After TRUNCATE, which deletes all rows. */
export function parseTruncate(cursor: TokenCursor): Statement {
  cursor.take("TABLE");
  const table = cursor.tableName();
  cursor.end();
  return { kind: "delete", table, alias: undefined, using: undefined, where: undefined };
}

function takeAlias(cursor: TokenCursor, follows: readonly string[]): string | undefined {
  const hasAs = cursor.take("AS");
  if (!hasAs && (!cursor.isAtName() || follows.includes(cursor.keyword()))) return undefined;
  return cursor.name("another name of the table");
}

function clause(cursor: TokenCursor, what: string): TextSpan {
  return cursor.spanUntil(() => cursor.isAt("WHERE") || cursor.isAt("RETURNING"), what);
}

function takeWhere(cursor: TokenCursor): TextSpan | undefined {
  const where = cursor.take("WHERE") ? clause(cursor, "a condition after WHERE") : undefined;
  if (cursor.isAt("RETURNING")) {
    throw cursor.fail("RETURNING is not supported", "Run a SELECT before.");
  }
  for (const [first, second] of [
    ["ORDER", "BY"],
    ["LIMIT", ""],
  ] as const) {
    if (cursor.isAt(first)) throw cursor.fail(`${`${first} ${second}`.trim()} has no place here`);
  }
  cursor.end();
  return where;
}
