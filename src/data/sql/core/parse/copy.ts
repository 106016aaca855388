/** COPY t FROM 'file': CSV, Parquet and other formats of DuckDB. Options are passed on. */
import type { Statement } from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";

/** After COPY. */
export function parseCopy(cursor: TokenCursor): Statement {
  if (cursor.isAtSymbol("(")) {
    throw cursor.fail("COPY (…) TO is not supported", "Run the SELECT, and keep its result.");
  }
  if (cursor.isAt("FROM", "DATABASE")) throw cursor.fail("COPY FROM DATABASE is not supported");
  const table = cursor.tableName();
  const columns = cursor.isAtSymbol("(") ? cursor.columnNames() : undefined;
  if (cursor.isAt("TO")) {
    throw cursor.fail("COPY … TO is not supported", "Run a SELECT, and keep its result.");
  }
  cursor.expect("FROM");
  const file = fileName(cursor);
  const hasWith = cursor.take("WITH");
  const options = cursor.isAtSymbol("(") ? copyOptions(cursor) : new Map<string, string>();
  if (hasWith && options.size === 0) throw cursor.unexpected("options in brackets after WITH");
  if (!cursor.isAtEnd && cursor.peek()?.kind === "word") {
    throw cursor.fail("options stand in brackets", "COPY t FROM 'file' (FORMAT csv, HEADER).");
  }
  cursor.end();
  return { kind: "copy", table, columns, file, options };
}

function fileName(cursor: TokenCursor): string {
  const token = cursor.peek();
  if (token?.kind !== "text" || token.value === undefined) {
    const shown = cursor.unexpected("the name of a file").message;
    throw cursor.fail(shown.split("\n", 1)[0] ?? shown, "It stands in single quotes.");
  }
  if (token.value === "") throw cursor.fail("the name of the file is empty");
  cursor.next();
  return token.value;
}

function copyOptions(cursor: TokenCursor): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  cursor.expectSymbol("(");
  do {
    const token = cursor.peek();
    if (token?.kind !== "word" && token?.kind !== "quotedName") {
      throw cursor.unexpected("the name of an option");
    }
    // Any word can name an option, also keywords: NULL, COLUMNS.
    const name = (token.value ?? token.text).toUpperCase();
    if (options.has(name)) throw cursor.fail(`the option ${name} is given twice`);
    cursor.next();
    options.set(name, optionValue(cursor, name));
  } while (cursor.takeSymbol(","));
  cursor.expectSymbol(")");
  return options;
}

/** A text without its quotes; lists and numbers as written; `true` without a value. */
function optionValue(cursor: TokenCursor, name: string): string {
  if (cursor.isAtSymbol("=")) {
    throw cursor.fail("no = between an option and its value", `Write ${name} value.`);
  }
  if (cursor.isAtSymbol(",") || cursor.isAtSymbol(")")) return "true";
  const isAlone = cursor.isAtSymbol(",", 1) || cursor.isAtSymbol(")", 1);
  const token = cursor.peek();
  if (token?.kind === "text" && isAlone) {
    if (token.value === undefined) throw cursor.fail("this escape is not known");
    cursor.next();
    return token.value;
  }
  return cursor.spanUntil(() => cursor.isAtSymbol(","), `a value of ${name}`).text;
}
