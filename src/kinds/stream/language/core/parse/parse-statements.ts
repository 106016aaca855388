/** Parses statements, which are separated by semicolons. */
import { DialectError } from "../dialect-error.ts";
import type { AstContinuousQuery, AstName, AstSink, ObjectKind, Statement } from "./ast.ts";
import { parseExpr, parseList } from "./expr-parser.ts";
import { parseQuery } from "./query-parser.ts";
import { parseFields, parseName, parseSet, parseSettings } from "./settings-parser.ts";
import { TokenReader } from "./token-reader.ts";
import { parseWatermark } from "./window-parser.ts";

type StatementBody = Statement extends infer S
  ? S extends Statement
    ? Omit<S, "position" | "text">
    : never
  : never;

const heads = ["CREATE", "SELECT", "WITH", "DROP", "SHOW", "EXPLAIN"] as const;

export function parseStatements(text: string): readonly Statement[] {
  const reader = new TokenReader(text);
  const statements: Statement[] = [];
  for (;;) {
    while (reader.takeSymbol(";")) {}
    if (reader.peek().type === "end") return statements;
    statements.push(parseStatement(reader));
    if (reader.peek().type !== "end" && !reader.isSymbol(";")) {
      throw reader.unexpected("the end of the statement");
    }
  }
}

function parseStatement(reader: TokenReader): Statement {
  const first = reader.peek();
  const body = parseStatementBody(reader);
  const text = reader.text.slice(first.start, reader.previous().end);
  return { ...body, position: reader.position(first), text } as Statement;
}

function parseStatementBody(reader: TokenReader): StatementBody {
  if (reader.takeWords("CREATE")) return parseCreate(reader);
  if (reader.takeWords("DROP")) return parseDrop(reader);
  if (reader.takeWords("SHOW")) return parseShow(reader);
  if (reader.takeWords("EXPLAIN")) return parseExplain(reader);
  if (reader.isWords("SELECT") || reader.isWords("WITH") || reader.isSymbol("(")) {
    return { kind: "query", query: parseContinuousQuery(reader) };
  }
  throw reader.unexpected(`a statement (${heads.join(", ")})`, heads);
}

function parseContinuousQuery(reader: TokenReader): AstContinuousQuery {
  const position = reader.position();
  const query = parseQuery(reader);
  if (!reader.takeWords("INTO")) {
    throw reader.unexpected("INTO and a sink", ["INTO", "WHERE", "WINDOW", "GROUP", "HAVING"]);
  }
  const sinks = parseList(reader, parseSink);
  return { position, query, sinks, settings: parseSet(reader) };
}

function parseSink(reader: TokenReader): AstSink {
  const { text, position } = parseName(reader, "a sink");
  if (!reader.isSymbol("(")) return { kind: "named", name: text, position };
  return { kind: "anonymous", type: text, settings: parseSettings(reader), position };
}

function parseIfNotExists(reader: TokenReader): boolean {
  return reader.takeWords("IF", "NOT", "EXISTS");
}

function parseCreate(reader: TokenReader): StatementBody {
  if (reader.takeWords("LOGICAL", "SOURCE")) return parseLogicalSource(reader);
  if (reader.takeWords("PHYSICAL", "SOURCE")) return parsePhysicalSource(reader);
  if (reader.takeWords("SINK")) return parseCreateSink(reader);
  if (reader.takeWords("VIEW")) {
    const ifNotExists = parseIfNotExists(reader);
    const name = parseName(reader, "the name of the view");
    reader.expectWords("AS");
    return { kind: "createView", name, ifNotExists, query: parseQuery(reader) };
  }
  if (reader.takeWords("QUERY")) {
    const ifNotExists = parseIfNotExists(reader);
    const name = parseName(reader, "the name of the query");
    reader.expectWords("AS");
    return { kind: "createQuery", name, ifNotExists, query: parseContinuousQuery(reader) };
  }
  if (reader.isWords("MODEL")) {
    throw new DialectError(2008, "models are not supported", { position: reader.position() });
  }
  const known = ["LOGICAL", "PHYSICAL", "SINK", "VIEW", "QUERY"];
  throw reader.unexpected("LOGICAL SOURCE, PHYSICAL SOURCE, SINK, VIEW or QUERY", known);
}

function parseLogicalSource(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  const name = parseName(reader, "the name of the source");
  const kind = "createLogicalSource";
  if (reader.takeWords("AS")) {
    const query = parseQuery(reader);
    return { kind, name, ifNotExists, fields: undefined, watermark: undefined, query };
  }
  const fields = parseFields(reader);
  const watermark = parseWatermark(reader);
  return { kind, name, ifNotExists, fields, watermark, query: undefined };
}

function parsePhysicalSource(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  reader.expectWords("FOR");
  const logical = parseName(reader, "the name of a logical source");
  reader.expectWords("TYPE");
  const type = parseName(reader, "the type of the source");
  return { kind: "createPhysicalSource", logical, ifNotExists, type, settings: parseSet(reader) };
}

function parseCreateSink(reader: TokenReader): StatementBody {
  const ifNotExists = parseIfNotExists(reader);
  const name = parseName(reader, "the name of the sink");
  const fields = reader.isSymbol("(") ? parseFields(reader) : undefined;
  reader.expectWords("TYPE");
  const type = parseName(reader, "the type of the sink");
  return { kind: "createSink", name, ifNotExists, fields, type, settings: parseSet(reader) };
}

const objects: readonly (readonly [words: readonly string[], object: ObjectKind])[] = [
  [["LOGICAL", "SOURCE"], "logical source"],
  [["PHYSICAL", "SOURCE"], "physical source"],
  [["SOURCE"], "logical source"],
  [["SINK"], "sink"],
  [["VIEW"], "view"],
  [["QUERY"], "query"],
  [["WORKER"], "worker"],
];

/** `plural` also takes the words with an S or as QUERIES. */
function parseObject(reader: TokenReader, plural: boolean): ObjectKind & string {
  for (const [words, object] of objects) {
    if (reader.takeWords(...words)) return object;
    const last = words.at(-1) as string;
    const many = [...words.slice(0, -1), last === "QUERY" ? "QUERIES" : `${last}S`];
    if (plural && reader.takeWords(...many)) return object;
  }
  throw reader.unexpected("LOGICAL SOURCE, PHYSICAL SOURCE, SINK, VIEW, QUERY or WORKER", [
    ...objects.map(([words]) => words[0] as string),
  ]);
}

function parseDrop(reader: TokenReader): StatementBody {
  const shorthand = reader.isWords("SOURCE");
  const object = parseObject(reader, false);
  const ifExists = reader.takeWords("IF", "EXISTS");
  const name = parseObjectName(reader, object);
  return { kind: "drop", object, name, ifExists, shorthand, settings: parseSet(reader) };
}

/** Physical sources and queries without a name are named by a number. */
function parseObjectName(reader: TokenReader, object: ObjectKind): AstName {
  const token = reader.peek();
  if (token.type !== "number" && token.type !== "text") return parseName(reader, `a ${object}`);
  reader.take();
  return { text: token.text, position: reader.position(token) };
}

function parseShow(reader: TokenReader): StatementBody {
  const object = parseObject(reader, true);
  reader.takeWords("FOR");
  const isName = !["", "WHERE", "FORMAT"].includes(reader.peek().word);
  const isOther = ["quoted", "number", "text"].includes(reader.peek().type);
  const name = isName || isOther ? parseObjectName(reader, object) : undefined;
  const where = reader.takeWords("WHERE") ? parseExpr(reader) : undefined;
  return { kind: "show", object, name, where, format: parseFormat(reader) };
}

function parseFormat(reader: TokenReader): "text" | "json" {
  if (!reader.takeWords("FORMAT")) return "text";
  if (reader.takeWords("JSON")) return "json";
  reader.expectWords("TEXT");
  return "text";
}

const stages = ["PARSED", "LOGICAL", "OPTIMIZED", "PLACED", "ALL"] as const;

function parseExplain(reader: TokenReader): StatementBody {
  const chosen: string[] = [];
  if (reader.isSymbol("(") && !["SELECT", "WITH"].includes(reader.peek(1).word)) {
    reader.take();
    for (const name of parseList(reader, (inner) => parseName(inner, "a stage"))) {
      const stage = stages.find((known) => known === name.text.toUpperCase());
      if (stage === undefined) {
        throw new DialectError(2000, `there is no stage ${name.text} of planning`, {
          position: name.position,
          hint: `The stages are ${stages.join(", ")}.`,
        });
      }
      chosen.push(stage);
    }
    reader.expectSymbol(")");
  }
  let format = parseFormat(reader);
  const position = reader.position();
  const query = parseQuery(reader);
  if (!reader.takeWords("INTO")) {
    if (reader.isWords("FORMAT")) format = parseFormat(reader);
    return { kind: "explain", stages: chosen, format, query: { query } };
  }
  const sinks = parseList(reader, parseSink);
  const settings = parseSet(reader);
  if (reader.isWords("FORMAT")) format = parseFormat(reader);
  return { kind: "explain", stages: chosen, format, query: { position, query, sinks, settings } };
}
