/** Parses `EXPLAIN [(stage, …)] [FORMAT TEXT | JSON] query`; FORMAT may stand behind the query. */
import { DialectError } from "../dialect-error.ts";
import { didYouMean } from "../suggest.ts";
import { type AstExplain, type ExplainStage, explainStages } from "./ast.ts";
import { parseList } from "./expr-parser.ts";
import { parseQuery } from "./query-parser.ts";
import { parseName, parseSet } from "./settings-parser.ts";
import { parseSink } from "./sink-parser.ts";
import type { TokenReader } from "./token-reader.ts";

/** Reads what stands behind the word EXPLAIN. */
export function parseExplain(reader: TokenReader): AstExplain {
  const stages = parseStages(reader);
  let format = parseFormat(reader);
  const position = reader.position();
  const query = parseQuery(reader);
  const sinks = reader.takeWords("INTO") ? parseList(reader, parseSink) : [];
  const settings = parseSet(reader);
  if (reader.isWords("FORMAT")) format = parseFormat(reader);
  return { kind: "explain", stages, format, query: { position, query, sinks, settings } };
}

function parseStages(reader: TokenReader): readonly ExplainStage[] {
  if (!reader.isSymbol("(") || ["SELECT", "WITH"].includes(reader.peek(1).word)) return [];
  if (reader.isSymbol("(", 1)) return [];
  reader.take();
  const stages = parseList(reader, parseStage);
  reader.expectSymbol(")");
  return stages;
}

function parseStage(reader: TokenReader): ExplainStage {
  const { text, position } = parseName(reader, "a stage of planning");
  const stage = explainStages.find((known) => known === text.toUpperCase());
  if (stage !== undefined) return stage;
  throw new DialectError(2000, `there is no stage ${text} of planning`, {
    position,
    hint: didYouMean(text, explainStages) ?? `The stages are ${explainStages.join(", ")}.`,
  });
}

/** `FORMAT JSON`, `FORMAT TEXT`, or nothing. */
export function parseFormat(reader: TokenReader): "text" | "json" {
  if (!reader.takeWords("FORMAT")) return "text";
  if (reader.takeWords("JSON")) return "json";
  if (!reader.takeWords("TEXT")) throw reader.unexpected("TEXT or JSON", ["TEXT", "JSON"]);
  return "text";
}
