/**
 * Parses a statement of DuckDB's language. Heads are parsed here, by tokens; expressions and
 * SELECTs stay texts for DuckDB. Anything unsupported is `bad_sql` with its position.
 */
import { parseAlterTable, parseDropTable } from "./parse/alter-table.ts";
import { parseDelete, parseInsert, parseTruncate, parseUpdate } from "./parse/change-rows.ts";
import { parseCopy } from "./parse/copy.ts";
import { parseCreateTable } from "./parse/create-table.ts";
import { isAtSelect, parseQuery, selectToEnd, selectWords } from "./parse/query.ts";
import { refuseObject, refuseStatement } from "./parse/refuse.ts";
import { parseDescribe, parseShow } from "./parse/show.ts";
import type { Statement } from "./statement.ts";
import type { TokenCursor } from "./token-cursor.ts";

/** The first words of these statements. */
export const statementVerbs: readonly string[] = [
  ...[...selectWords, "(", "DESCRIBE", "DESC", "SUMMARIZE", "SHOW", "EXPLAIN"],
  ...["CREATE", "ALTER", "DROP", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "COPY"],
];

/** The words that other kinds accept after a verb of these statements, for errors. */
export type OthersAfter = (verb: string) => readonly string[];

export function parseStatement(cursor: TokenCursor, othersAfter: OthersAfter): Statement {
  if (isAtSelect(cursor)) return parseQuery(cursor);
  switch (cursor.keyword()) {
    case "SUMMARIZE":
      return parseQuery(cursor);
    case "DESCRIBE":
    case "DESC":
      return parseDescribe(cursor);
    case "SHOW":
      return parseShow(cursor, othersAfter("SHOW"));
    case "EXPLAIN":
      return parseExplain(cursor);
    case "CREATE":
    case "ALTER":
    case "DROP":
      return parseDefinition(cursor, othersAfter);
    default:
      return parseRowsOrRefuse(cursor);
  }
}

function parseRowsOrRefuse(cursor: TokenCursor): Statement {
  if (cursor.take("INSERT")) return parseInsert(cursor);
  if (cursor.take("UPDATE")) return parseUpdate(cursor);
  if (cursor.take("DELETE")) return parseDelete(cursor);
  if (cursor.take("TRUNCATE")) return parseTruncate(cursor);
  if (cursor.take("COPY")) return parseCopy(cursor);
  throw refuseStatement(cursor, statementVerbs);
}

function parseExplain(cursor: TokenCursor): Statement {
  cursor.expect("EXPLAIN");
  if (cursor.isAtSymbol("(") && ["ANALYZE", "FORMAT"].includes(cursor.keyword(1))) {
    throw cursor.fail("EXPLAIN (…) is not supported", "There is EXPLAIN and EXPLAIN ANALYZE.");
  }
  const analyze = cursor.take("ANALYZE");
  if (!isAtSelect(cursor)) {
    const verb = cursor.keyword();
    const changes = ["INSERT", "UPDATE", "DELETE", "COPY", "CREATE", "DROP", "ALTER"];
    if (changes.includes(verb)) throw cursor.fail(`EXPLAIN ${verb} is not supported`);
  }
  const query = selectToEnd(cursor, analyze ? "EXPLAIN ANALYZE" : "EXPLAIN");
  return { kind: "explain", analyze, query };
}

function parseDefinition(cursor: TokenCursor, othersAfter: OthersAfter): Statement {
  const verb = cursor.next().text.toUpperCase();
  const orReplace = verb === "CREATE" && cursor.take("OR", "REPLACE");
  if (!cursor.take("TABLE")) throw refuseObject(cursor, verb, othersAfter(verb));
  if (verb === "ALTER") return parseAlterTable(cursor);
  return verb === "DROP" ? parseDropTable(cursor) : parseCreateTable(cursor, orReplace);
}
