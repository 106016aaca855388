/** Parses statements, which are separated by semicolons. */
import type { AstName, AstQuery, ObjectKind, Statement, StatementBody } from "./ast.ts";
import { parseCheckpointNumber, parseFromCheckpoint, parseQueryName } from "./checkpoint-parser.ts";
import { parseCreate } from "./create-parser.ts";
import { parseExplain, parseFormat } from "./explain-parser.ts";
import { parseExpr } from "./expr-parser.ts";
import { statementCharactersMax } from "./lexer.ts";
import { parsePreview } from "./preview-parser.ts";
import { parseQuery } from "./query-parser.ts";
import { parseName, parseSet, parseSourceName } from "./settings-parser.ts";
import { parseContinuousQuery } from "./sink-parser.ts";
import { TokenReader } from "./token-reader.ts";

const heads = [
  ...["CREATE", "SELECT", "WITH", "DROP", "SHOW", "EXPLAIN", "PAUSE", "RESUME", "CHECKPOINT"],
  "PREVIEW",
] as const;

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

/** A query alone, as the definition of a view is kept. */
export function parseQueryText(text: string): AstQuery {
  const reader = new TokenReader(text);
  const query = parseQuery(reader);
  if (reader.peek().type !== "end") throw reader.unexpected("the end of the query");
  return query;
}

function parseStatement(reader: TokenReader): Statement {
  const first = reader.peek();
  const body = parseStatementBody(reader);
  const text = reader.text.slice(first.start, reader.previous().end);
  if (text.length > statementCharactersMax) {
    throw reader.error(
      `the statement has ${text.length} characters, the most is ${statementCharactersMax}`,
      first,
    );
  }
  return { ...body, position: reader.position(first), text } as Statement;
}

function parseStatementBody(reader: TokenReader): StatementBody {
  if (reader.takeWords("CREATE")) return parseCreate(reader);
  if (reader.takeWords("DROP")) return parseDrop(reader);
  if (reader.takeWords("SHOW")) return parseShow(reader);
  if (reader.takeWords("EXPLAIN")) return parseExplain(reader);
  if (reader.takeWords("PREVIEW")) return parsePreview(reader);
  if (reader.takeWords("PAUSE", "QUERY")) return { kind: "pause", name: parseQueryName(reader) };
  if (reader.takeWords("RESUME", "QUERY")) return parseResume(reader);
  if (reader.takeWords("CHECKPOINT", "QUERY")) {
    return { kind: "checkpoint", name: parseQueryName(reader) };
  }
  if (reader.isWords("SELECT") || reader.isWords("WITH") || reader.isSymbol("(")) {
    const query = parseContinuousQuery(reader);
    return { kind: "query", query, from: parseFromCheckpoint(reader) };
  }
  const expected = `a statement (${heads.join(", ")})`;
  if (["INSERT", "UPDATE", "DELETE"].includes(reader.peek().word)) {
    const token = reader.peek();
    const message = `unexpected "${token.text}", expected ${expected}`;
    throw reader.error(message, token, "Rows of a stream are added to a sink: SELECT … INTO sink.");
  }
  throw reader.unexpected(expected, heads);
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

function parseResume(reader: TokenReader): StatementBody {
  const name = parseQueryName(reader);
  const isBack = reader.takeWords("FROM", "CHECKPOINT");
  return { kind: "resume", name, checkpoint: isBack ? parseCheckpointNumber(reader) : undefined };
}

function parseDrop(reader: TokenReader): StatementBody {
  if (reader.takeWords("CHECKPOINT")) return parseDropCheckpoint(reader);
  const shorthand = reader.isWords("SOURCE");
  const object = parseObject(reader, false);
  const ifExists = reader.takeWords("IF", "EXISTS");
  const isById = object === "query" && reader.takeWords("WHERE", "ID");
  if (isById && !reader.takeSymbol("==")) reader.expectSymbol("=");
  const name = parseObjectName(reader, object);
  const mode = object === "query" ? parseMode(reader) : undefined;
  return { kind: "drop", object, name, ifExists, shorthand, mode, settings: parseSet(reader) };
}

function parseDropCheckpoint(reader: TokenReader): StatementBody {
  const ifExists = reader.takeWords("IF", "EXISTS");
  const checkpoint = parseCheckpointNumber(reader);
  reader.expectWords("FOR");
  return { kind: "dropCheckpoint", checkpoint, query: parseQueryName(reader), ifExists };
}

function parseMode(reader: TokenReader): "SOFT" | "HARD" | undefined {
  if (reader.takeWords("SOFT")) return "SOFT";
  return reader.takeWords("HARD") ? "HARD" : undefined;
}

/** Physical sources and queries without a name are named by a number. */
function parseObjectName(reader: TokenReader, object: ObjectKind): AstName {
  const token = reader.peek();
  if (token.type !== "number" && token.type !== "text") {
    const isSource = object === "logical source" || object === "view";
    return (isSource ? parseSourceName : parseName)(reader, `a ${object}`);
  }
  reader.take();
  return { text: token.text, position: reader.position(token) };
}

function parseShow(reader: TokenReader): StatementBody {
  if (reader.takeWords("CHECKPOINTS")) {
    const query = reader.takeWords("FOR") ? parseQueryName(reader) : undefined;
    return { kind: "showCheckpoints", query, format: parseFormat(reader) };
  }
  const asStatement = reader.takeWords("CREATE");
  const object = parseObject(reader, !asStatement);
  const owner =
    !asStatement && object === "physical source" && reader.takeWords("FOR")
      ? parseSourceName(reader, "the name of a logical source")
      : undefined;
  const isName = !["", "WHERE", "FORMAT"].includes(reader.peek().word);
  const isOther = ["quoted", "number", "text"].includes(reader.peek().type);
  const isNamed = asStatement || (owner === undefined && (isName || isOther));
  const name = isNamed ? parseObjectName(reader, object) : undefined;
  const where = reader.takeWords("WHERE") ? parseExpr(reader) : undefined;
  return { kind: "show", object, name, owner, asStatement, where, format: parseFormat(reader) };
}
