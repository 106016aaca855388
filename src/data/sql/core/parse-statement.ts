/**
 * What a statement asks for. Heads are understood here, by tokens; every expression and every SELECT stays a text for
 * DuckDB. What is accepted is a part of DuckDB's own language, and what is there for dynamic tables; everything else is
 * `bad_sql` that says what and where.
 */
import { parseAlterTable, parseDropTable } from "./parse/alter-table.ts";
import { parseDelete, parseInsert, parseTruncate, parseUpdate } from "./parse/change-rows.ts";
import { parseCopy } from "./parse/copy.ts";
import { parseCreateTable } from "./parse/create-table.ts";
import {
  parseAlterDynamicTable,
  parseCreateDynamicTable,
  parseNamedDynamicTable,
} from "./parse/dynamic-table.ts";
import { isAtSelect, parseQuery, selectToEnd } from "./parse/query.ts";
import { refuseObject, refuseStatement } from "./parse/refuse.ts";
import { parseDescribe, parseShow } from "./parse/show.ts";
import type { Statement } from "./statement.ts";
import { TokenCursor } from "./token-cursor.ts";

export function parseStatement(text: string): Statement {
  const cursor = new TokenCursor(text);
  if (cursor.isAtEnd) throw cursor.fail("there is no statement");
  if (isAtSelect(cursor)) return parseQuery(cursor);
  switch (cursor.keyword()) {
    case "SUMMARIZE":
      return parseQuery(cursor);
    case "DESCRIBE":
    case "DESC":
      return parseDescribe(cursor);
    case "SHOW":
      return parseShow(cursor);
    case "EXPLAIN":
      return parseExplain(cursor);
    case "CREATE":
      return parseCreate(cursor);
    case "ALTER":
      return parseAlter(cursor);
    case "DROP":
      return parseDrop(cursor);
    case "REFRESH":
      cursor.expect("REFRESH");
      if (cursor.isAt("TABLE") || cursor.isAt("MATERIALIZED")) {
        throw cursor.fail("only dynamic tables are refreshed", "REFRESH DYNAMIC TABLE name.");
      }
      expectDynamicTable(cursor);
      return parseNamedDynamicTable(cursor, "refreshDynamicTable");
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
  throw refuseStatement(cursor);
}

function parseExplain(cursor: TokenCursor): Statement {
  cursor.expect("EXPLAIN");
  if (cursor.take("DYNAMIC", "TABLE")) {
    return parseNamedDynamicTable(cursor, "explainDynamicTable");
  }
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

function parseCreate(cursor: TokenCursor): Statement {
  cursor.expect("CREATE");
  const orReplace = cursor.take("OR", "REPLACE");
  if (cursor.take("TABLE")) return parseCreateTable(cursor, orReplace);
  if (cursor.take("DYNAMIC", "TABLE")) return parseCreateDynamicTable(cursor, orReplace);
  throw refuseObject(cursor, "CREATE");
}

function parseAlter(cursor: TokenCursor): Statement {
  cursor.expect("ALTER");
  if (cursor.take("TABLE")) return parseAlterTable(cursor);
  if (cursor.take("DYNAMIC", "TABLE")) return parseAlterDynamicTable(cursor);
  throw refuseObject(cursor, "ALTER");
}

function parseDrop(cursor: TokenCursor): Statement {
  cursor.expect("DROP");
  if (cursor.take("TABLE")) return parseDropTable(cursor, false);
  if (cursor.take("DYNAMIC", "TABLE")) return parseDropTable(cursor, true);
  throw refuseObject(cursor, "DROP");
}

function expectDynamicTable(cursor: TokenCursor): void {
  cursor.expect("DYNAMIC");
  cursor.expect("TABLE");
}
