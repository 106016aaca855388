/** CREATE TABLE, and definitions of columns. */
import type { ColumnDefinition, Statement, TextSpan } from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";
import { selectToEnd } from "./query.ts";

/** After CREATE [OR REPLACE] TABLE. */
export function parseCreateTable(cursor: TokenCursor, orReplace: boolean): Statement {
  const ifNotExists = takeIfNotExists(cursor, orReplace);
  const table = cursor.tableName();
  const head = { kind: "createTable", table, orReplace, ifNotExists } as const;
  if (cursor.take("AS")) {
    return { ...head, columns: undefined, query: selectToEnd(cursor, "AS") };
  }
  if (!cursor.isAtSymbol("(")) throw cursor.unexpected('"(" or AS');
  const columns = columnDefinitions(cursor);
  if (cursor.isAt("AS")) {
    const hint = "Give columns their names in the SELECT: SELECT x AS name.";
    throw cursor.fail("definitions of columns and AS do not go together", hint);
  }
  if (cursor.isAt("WITH")) throw cursor.fail("WITH (…) is not supported for tables");
  if (cursor.isAt("PARTITIONED")) throw cursor.fail("PARTITIONED BY is not supported");
  cursor.end();
  return { ...head, columns, query: undefined };
}

export function takeIfNotExists(cursor: TokenCursor, orReplace: boolean): boolean {
  if (!cursor.isAt("IF", "NOT", "EXISTS")) return false;
  if (orReplace) {
    throw cursor.fail("OR REPLACE and IF NOT EXISTS do not go together", "Leave one of them out.");
  }
  return cursor.take("IF", "NOT", "EXISTS");
}

function columnDefinitions(cursor: TokenCursor): readonly ColumnDefinition[] {
  cursor.expectSymbol("(");
  if (cursor.isAtSymbol(")")) throw cursor.fail("a table has at least one column");
  const columns: ColumnDefinition[] = [];
  const seen = new Set<string>();
  do {
    if (cursor.isAtSymbol(")")) break; // DuckDB allows a trailing comma.
    refuseTableConstraint(cursor);
    columns.push(columnDefinition(cursor, seen));
  } while (cursor.takeSymbol(","));
  cursor.expectSymbol(")");
  return columns;
}

export function columnDefinition(cursor: TokenCursor, seen: Set<string>): ColumnDefinition {
  const name = cursor.columnName(seen);
  if (cursor.isAtSymbol(".")) throw cursor.fail("a column's name has no dot", "Quote it.");
  const type = columnType(cursor, name);
  let nullable: boolean | undefined;
  let defaultValue: TextSpan | undefined;
  while (!cursor.isAtEnd && !cursor.isAtSymbol(",") && !cursor.isAtSymbol(")")) {
    if (cursor.isAt("NOT", "NULL") || cursor.isAt("NULL")) {
      const isNull = cursor.isAt("NULL");
      if (nullable !== undefined) throw cursor.fail(`${name} is said to be NULL or NOT NULL twice`);
      nullable = isNull;
      if (!cursor.take("NULL")) cursor.take("NOT", "NULL");
    } else if (cursor.isAt("DEFAULT")) {
      if (defaultValue !== undefined) throw cursor.fail(`${name} has two DEFAULTs`);
      cursor.expect("DEFAULT");
      defaultValue = defaultExpression(cursor);
    } else {
      refuseConstraint(cursor);
      throw cursor.unexpected("NOT NULL, DEFAULT, a comma or a closing bracket");
    }
  }
  return { name, type, nullable: nullable ?? true, defaultValue };
}

const typeEnds: ReadonlySet<string> = new Set(
  "NOT NULL DEFAULT PRIMARY UNIQUE CHECK REFERENCES COLLATE GENERATED CONSTRAINT USING AS".split(
    " ",
  ),
);

function columnType(cursor: TokenCursor, column: string): TextSpan {
  const kind = cursor.peek()?.kind;
  if (typeEnds.has(cursor.keyword())) refuseConstraint(cursor);
  if (typeEnds.has(cursor.keyword()) || (kind !== "word" && kind !== "quotedName")) {
    throw cursor.unexpected(`the type of ${column}`);
  }
  return cursor.spanUntil(
    () => cursor.isAtSymbol(",") || typeEnds.has(cursor.keyword()),
    `the type of ${column}`,
  );
}

/** Operators that DuckDB takes here only in brackets, because of what may follow. */
const needsBrackets: ReadonlySet<string> = new Set(
  "AND OR LIKE ILIKE IN BETWEEN SIMILAR GLOB ISNULL NOTNULL".split(" "),
);

function defaultExpression(cursor: TokenCursor): TextSpan {
  const from = cursor.index;
  let caseDepth = 0;
  const isEnd = (): boolean => {
    const keyword = cursor.keyword();
    if (keyword === "CASE") caseDepth += 1;
    if (keyword === "END" && caseDepth > 0) {
      caseDepth -= 1;
      return false;
    }
    if (caseDepth > 0) return false;
    const isFirst = cursor.index === from;
    const before = isFirst ? "" : cursor.keyword(-1);
    const isOther =
      needsBrackets.has(keyword) ||
      (keyword === "NOT" && (isFirst || (before !== "IS" && !cursor.isAt("NOT", "NULL")))) ||
      (keyword === "IS" && !cursor.isAt("IS", "DISTINCT") && !cursor.isAt("IS", "NOT", "DISTINCT"));
    if (isOther) {
      throw cursor.fail("this expression needs brackets", "Write DEFAULT (…).");
    }
    if (keyword === "NOT") return before !== "IS";
    if (keyword === "NULL") return !isFirst && endsOperand(cursor);
    return cursor.isAtSymbol(",") || (typeEnds.has(keyword) && keyword !== "AS");
  };
  return cursor.spanUntil(isEnd, "an expression after DEFAULT");
}

/** Whether a value ends before this position, so that a NULL here is about the column. */
function endsOperand(cursor: TokenCursor): boolean {
  const before = cursor.peek(-1);
  if (before?.kind === "operator") return false;
  return cursor.keyword(-1) !== "FROM"; // `IS DISTINCT FROM NULL`.
}

const constraintHints: ReadonlyMap<string, string> = new Map([
  ["PRIMARY", "PRIMARY KEY"],
  ["UNIQUE", "UNIQUE"],
  ["CHECK", "CHECK"],
  ["REFERENCES", "REFERENCES"],
  ["FOREIGN", "FOREIGN KEY"],
  ["CONSTRAINT", "CONSTRAINT"],
]);

function refuseConstraint(cursor: TokenCursor): void {
  const constraint = constraintHints.get(cursor.keyword());
  if (constraint !== undefined) {
    const hint = "Of all constraints only NOT NULL is known.";
    throw cursor.fail(`${constraint} is not supported`, hint);
  }
  if (cursor.isAt("COLLATE")) throw cursor.fail("COLLATE is not supported for columns");
  if (cursor.isAt("GENERATED") || cursor.isAt("AS")) {
    const hint = "Compute the column where it is read, or in a dynamic table.";
    throw cursor.fail("generated columns are not supported", hint);
  }
  if (cursor.isAt("USING")) throw cursor.fail("USING COMPRESSION is not supported");
}

function refuseTableConstraint(cursor: TokenCursor): void {
  if (constraintHints.has(cursor.keyword())) refuseConstraint(cursor);
  if (cursor.isAt("LIKE")) {
    const hint = "CREATE TABLE t AS SELECT * FROM other LIMIT 0.";
    throw cursor.fail("LIKE is not supported", hint);
  }
}
