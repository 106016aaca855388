/** Parses queries: SELECT with its clauses, UNION, WITH, joins and nested queries. */
import { DialectError } from "../dialect-error.ts";
import type {
  AstExpr,
  AstJoin,
  AstName,
  AstQuery,
  AstQueryBody,
  AstRelation,
  AstSelect,
  AstSelectItem,
  AstWindow,
} from "./ast.ts";
import { clauseWords, parseExpr, parseList } from "./expr-parser.ts";
import { parseName, parseSettings, parseSourceName } from "./settings-parser.ts";
import type { TokenReader } from "./token-reader.ts";
import { parseWatermark, parseWindow } from "./window-parser.ts";

/** `mayLimit`: LIMIT may follow, for the caller to read. */
export function parseQuery(reader: TokenReader, mayLimit = false): AstQuery {
  return reader.nested(() => {
    const position = reader.position();
    const ctes: { readonly name: AstName; readonly query: AstQuery }[] = [];
    if (reader.takeWords("WITH")) {
      do {
        const name = parseName(reader, "the name of a query");
        reader.expectWords("AS");
        ctes.push({ name, query: parseParenthesized(reader) });
      } while (reader.takeSymbol(","));
    }
    const body = parseBody(reader, mayLimit);
    return reader.made({ position, ctes, body }, body);
  });
}

function parseParenthesized(reader: TokenReader): AstQuery {
  reader.expectSymbol("(");
  const query = parseQuery(reader);
  reader.expectSymbol(")");
  return query;
}

function parseBody(reader: TokenReader, mayLimit: boolean): AstQueryBody {
  let left = parseBodyPart(reader);
  while (reader.isWords("UNION")) {
    const position = reader.position(reader.take());
    reader.takeWords("ALL");
    if (reader.isWords("DISTINCT")) {
      throw reader.error("UNION DISTINCT is not supported: a stream keeps duplicates");
    }
    const right = parseBodyPart(reader);
    left = reader.made({ kind: "union", left, right, position }, left, right);
  }
  if (!mayLimit || !reader.isWords("LIMIT")) refuseOrder(reader);
  return left;
}

function parseBodyPart(reader: TokenReader): AstQueryBody {
  if (!reader.isSymbol("(")) return parseSelect(reader);
  const position = reader.position();
  const query = parseParenthesized(reader);
  return reader.made({ kind: "nested", query, position }, query);
}

function refuseOrder(reader: TokenReader): void {
  const isLimit = reader.isWords("LIMIT");
  if (!isLimit && !reader.isWords("ORDER", "BY")) return;
  throw new DialectError(2008, `${isLimit ? "LIMIT" : "ORDER BY"} is not supported on a stream`, {
    position: reader.position(),
    hint: `The first rows of each window: QUALIFY ROW_NUMBER() OVER (ORDER BY …) <= n.${
      isLimit ? " To look at some rows: PREVIEW SELECT … LIMIT n." : ""
    }`,
  });
}

function parseSelect(reader: TokenReader): AstSelect {
  const position = reader.position();
  reader.expectWords("SELECT");
  const distinct = reader.takeWords("DISTINCT");
  const items = parseList(reader, parseItem);
  reader.expectWords("FROM");
  const from = parseFrom(reader);
  let watermark = parseWatermark(reader);
  const where = reader.takeWords("WHERE") ? parseExpr(reader) : undefined;
  watermark ??= parseWatermark(reader);
  let groupBy = parseGroupBy(reader);
  const window = reader.takeWords("WINDOW") ? parseWindow(reader) : undefined;
  groupBy ??= parseGroupBy(reader);
  const having = reader.takeWords("HAVING") ? parseExpr(reader) : undefined;
  const qualify = reader.takeWords("QUALIFY") ? parseExpr(reader) : undefined;
  const select: AstSelect = {
    ...{ kind: "select", position, distinct, items, from, watermark, where, groupBy, window },
    ...{ having, qualify },
  };
  return reader.made(select, from);
}

function parseItem(reader: TokenReader): AstSelectItem {
  const token = reader.peek();
  const position = reader.position(token);
  if (reader.takeSymbol("*")) return { kind: "star", qualifier: undefined, position };
  if (reader.isSymbol(".", 1) && reader.isSymbol("*", 2)) {
    const qualifier = parseName(reader, "the name of a source").text;
    reader.take();
    reader.take();
    return { kind: "star", qualifier, position };
  }
  const expr = parseExpr(reader);
  const text = reader.text.slice(token.start, reader.previous().end);
  return { kind: "expr", expr, text, alias: parseAlias(reader), position };
}

/** `AS name`, or a name alone where it cannot be the beginning of a clause. */
function parseAlias(reader: TokenReader): string | undefined {
  if (reader.takeWords("AS")) return parseName(reader, "an alias").text;
  const token = reader.peek();
  if (token.type === "quoted") return reader.take().text;
  if (token.type !== "name" || clauseWords.has(token.word)) return undefined;
  return reader.take().text;
}

function parseGroupBy(reader: TokenReader): readonly AstExpr[] | undefined {
  if (!reader.takeWords("GROUP")) return undefined;
  reader.expectWords("BY");
  if (!isParenthesizedList(reader)) return parseList(reader, parseExpr);
  reader.expectSymbol("(");
  const keys = parseList(reader, parseExpr);
  reader.expectSymbol(")");
  return keys;
}

/** Whether the parentheses that open here hold the whole list: `(a, b)` but not `(a + 1) * 2`. */
function isParenthesizedList(reader: TokenReader): boolean {
  if (!reader.isSymbol("(")) return false;
  let depth = 0;
  for (let ahead = 0; ; ahead += 1) {
    const token = reader.peek(ahead);
    if (token.type === "end") return false;
    if (reader.isSymbol("(", ahead)) depth += 1;
    if (reader.isSymbol(")", ahead)) depth -= 1;
    if (depth > 0) continue;
    const next = reader.peek(ahead + 1);
    return next.type === "end" || clauseWords.has(next.word) || [")", ";"].includes(next.text);
  }
}

function parseFrom(reader: TokenReader): AstRelation {
  let left = parseRelation(reader);
  for (;;) {
    if (reader.isSymbol(",")) {
      throw reader.error(
        "two sources need a JOIN",
        reader.peek(),
        "Write a JOIN b ON … WINDOW TUMBLING(a_time, b_time, SIZE 1 SEC).",
      );
    }
    const join = parseJoinKind(reader);
    if (join === undefined) return left;
    left = parseJoin(reader, left, join);
  }
}

function parseJoinKind(reader: TokenReader): AstJoin["join"] | undefined {
  if (reader.takeWords("JOIN") || reader.takeWords("INNER", "JOIN")) return "inner";
  for (const side of ["LEFT", "RIGHT", "FULL"] as const) {
    if (!reader.takeWords(side)) continue;
    reader.takeWords("OUTER");
    reader.expectWords("JOIN");
    return side.toLowerCase() as AstJoin["join"];
  }
  return undefined;
}

function parseJoin(reader: TokenReader, left: AstRelation, join: AstJoin["join"]): AstJoin {
  const position = reader.position(reader.previous());
  const table = reader.isWords("TABLE") && !reader.isSymbol(".", 1);
  if (table) reader.take();
  const right = parseRelation(reader);
  reader.expectWords("ON");
  const on = parseExpr(reader);
  const window = table ? undefined : parseJoinWindow(reader);
  const node: AstJoin = { kind: "join", join, left, right, table, on, window, position };
  return reader.made(node, left, right);
}

/**
 * A window with one time is the query's, behind an interval join; with two, or none, the join's.
 */
function parseJoinWindow(reader: TokenReader): AstWindow | undefined {
  if (!reader.isWords("WINDOW") || countTimes(reader) === 1) return undefined;
  reader.take();
  return parseWindow(reader);
}

function countTimes(reader: TokenReader): number {
  let depth = 0;
  let commas = 0;
  for (let ahead = 2; ; ahead += 1) {
    const token = reader.peek(ahead);
    if (token.type === "end") return commas;
    const next = reader.peek(ahead + 1);
    const isLength =
      ["SIZE", "GAP"].includes(token.word) && (next.type === "number" || next.text === "=");
    if (depth === 1 && isLength) return commas;
    if (token.type !== "symbol") continue;
    if (token.text === "(") depth += 1;
    if (token.text === ")") depth -= 1;
    if (token.text === "," && depth === 1) commas += 1;
    if (depth === 0) return commas;
  }
}

function parseRelation(reader: TokenReader): AstRelation {
  const position = reader.position();
  if (reader.isSymbol("(")) {
    const query = parseParenthesized(reader);
    return reader.made({ kind: "query", query, alias: parseAlias(reader), position }, query);
  }
  const token = reader.peek();
  if (clauseWords.has(token.word)) throw reader.unexpected("a source or a query in parentheses");
  const name = parseSourceName(reader, "a source or a query in parentheses").text;
  if (!reader.isSymbol("(")) return { kind: "named", name, alias: parseAlias(reader), position };
  const settings = parseSettings(reader);
  return { kind: "anonymous", type: name, settings, alias: parseAlias(reader), position };
}
