/** Parses what stands behind INTO. */
import type { AstContinuousQuery, AstSink } from "./ast.ts";
import { parseList } from "./expr-parser.ts";
import { parseQuery } from "./query-parser.ts";
import { parseName, parseSet, parseSettings } from "./settings-parser.ts";
import type { TokenReader } from "./token-reader.ts";

/** `SELECT … INTO sink, … [SET(…)]`. */
export function parseContinuousQuery(reader: TokenReader): AstContinuousQuery {
  const position = reader.position();
  const query = parseQuery(reader);
  if (!reader.takeWords("INTO")) {
    throw reader.unexpected("INTO and a sink", ["INTO", "WHERE", "WINDOW", "GROUP", "HAVING"]);
  }
  const sinks = parseList(reader, parseSink);
  return { position, query, sinks, settings: parseSet(reader) };
}

/** One sink: by its name, or written in place. */
export function parseSink(reader: TokenReader): AstSink {
  const { text, position } = parseName(reader, "a sink");
  if (!reader.isSymbol("(")) return { kind: "named", name: text, position };
  return { kind: "anonymous", type: text, settings: parseSettings(reader), position };
}
