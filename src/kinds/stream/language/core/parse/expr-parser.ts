/**
 * Parses expressions, by recursive descent and operator precedence, from loose to tight: OR; AND;
 * NOT; comparisons, IS, IN, BETWEEN and LIKE; `|` `^` `&`; shifts; `+` `-` `||`; `*` `/` `%`; signs
 * and `!`; `::`.
 */
import { floatTypes, integerTypes, type TypeName } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import { didYouMean } from "../suggest.ts";
import type { AstCall, AstExpr, AstOrder, AstOver, BinaryOperator } from "./ast.ts";
import { isDurationAhead, parseDuration } from "./durations.ts";
import type { TokenReader } from "./token-reader.ts";

export const typeNames: ReadonlySet<string> = new Set<string>([
  ...integerTypes,
  ...floatTypes,
  "BOOLEAN",
  "CHAR",
  "VARSIZED",
]);

const comparisons: ReadonlyMap<string, BinaryOperator> = new Map<string, BinaryOperator>([
  ["=", "="],
  ["==", "="],
  ["!=", "!="],
  ["<>", "!="],
  ["<", "<"],
  ["<=", "<="],
  [">", ">"],
  [">=", ">="],
  ["<=>", "<=>"],
]);

/** How tight operators bind, all of them tighter than comparisons. */
const tightness: ReadonlyMap<string, number> = new Map(
  [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-", "||"], ["*", "/", "%"]].flatMap((symbols, level) =>
    symbols.map((symbol) => [symbol, level] as const),
  ),
);

export function parseExpr(reader: TokenReader): AstExpr {
  return reader.nested(() => parseOr(reader));
}

function parseOr(reader: TokenReader): AstExpr {
  let left = parseAnd(reader);
  while (reader.isWords("OR")) {
    const position = reader.position(reader.take());
    left = binary(reader, "or", left, parseAnd(reader), position);
  }
  return left;
}

function parseAnd(reader: TokenReader): AstExpr {
  let left = parseNot(reader);
  while (reader.isWords("AND")) {
    const position = reader.position(reader.take());
    left = binary(reader, "and", left, parseNot(reader), position);
  }
  return left;
}

function binary(
  reader: TokenReader,
  op: BinaryOperator,
  left: AstExpr,
  right: AstExpr,
  position: AstExpr["position"],
): AstExpr {
  return reader.made({ kind: "binary", op, left, right, position }, left, right);
}

function parseNot(reader: TokenReader): AstExpr {
  if (!reader.isWords("NOT")) return parsePredicate(reader);
  const position = reader.position(reader.take());
  const arg = reader.nested(() => parseNot(reader));
  return reader.made({ kind: "not", arg, position }, arg);
}

function parsePredicate(reader: TokenReader): AstExpr {
  let arg = parseBinary(reader, 0);
  for (;;) {
    const token = reader.peek();
    const position = reader.position(token);
    const op = token.type === "symbol" ? comparisons.get(token.text) : undefined;
    if (op !== undefined) {
      reader.take();
      arg = binary(reader, op, arg, parseBinary(reader, 0), position);
      continue;
    }
    const next = parseWordPredicate(reader, arg, position);
    if (next === undefined) return arg;
    arg = reader.made(next, arg);
  }
}

/** IS, IN, BETWEEN and LIKE; `undefined` where none of them follows. */
function parseWordPredicate(
  reader: TokenReader,
  arg: AstExpr,
  position: AstExpr["position"],
): AstExpr | undefined {
  if (reader.takeWords("IS")) {
    const negated = reader.takeWords("NOT");
    return { kind: "is", arg, what: parseIsWhat(reader), negated, position };
  }
  const negated = reader.isWords("NOT") && ["IN", "BETWEEN", "LIKE"].includes(reader.peek(1).word);
  if (negated) reader.take();
  if (reader.takeWords("IN")) {
    reader.expectSymbol("(");
    const list = parseList(reader, parseExpr);
    reader.expectSymbol(")");
    return { kind: "in", arg, list, negated, position };
  }
  if (reader.takeWords("BETWEEN")) {
    const low = parseBinary(reader, 0);
    reader.expectWords("AND");
    return { kind: "between", arg, low, high: parseBinary(reader, 0), negated, position };
  }
  if (!reader.takeWords("LIKE")) return undefined;
  return { kind: "like", arg, pattern: parseBinary(reader, 0), negated, position };
}

function parseIsWhat(reader: TokenReader): "null" | "nan" | "true" | "false" {
  for (const what of ["NULL", "NAN", "TRUE", "FALSE"] as const) {
    if (reader.takeWords(what)) return what.toLowerCase() as "null" | "nan" | "true" | "false";
  }
  throw reader.unexpected("NULL, NaN, TRUE or FALSE");
}

/** Reads operators that bind at least as tight as `least`. */
function parseBinary(reader: TokenReader, least: number): AstExpr {
  let left = parseUnary(reader);
  for (;;) {
    const token = reader.peek();
    const level = token.type === "symbol" ? tightness.get(token.text) : undefined;
    if (level === undefined || level < least) return left;
    reader.take();
    const right = parseBinary(reader, level + 1);
    left = binary(reader, token.text as BinaryOperator, left, right, reader.position(token));
  }
}

function parseUnary(reader: TokenReader): AstExpr {
  const token = reader.peek();
  if (reader.takeSymbol("+")) return reader.nested(() => parseUnary(reader));
  if (reader.takeSymbol("-") || reader.takeSymbol("!")) {
    const arg = reader.nested(() => parseUnary(reader));
    const kind = token.text === "-" ? "negate" : "not";
    return reader.made({ kind, arg, position: reader.position(token) }, arg);
  }
  let arg = parsePrimary(reader);
  while (reader.isSymbol("::")) {
    const position = reader.position(reader.take());
    arg = reader.made(
      { kind: "cast", arg, type: parseType(reader), lenient: false, position },
      arg,
    );
  }
  return arg;
}

function parsePrimary(reader: TokenReader): AstExpr {
  const token = reader.peek();
  const position = reader.position(token);
  if (isDurationAhead(reader)) return { kind: "duration", ms: parseDuration(reader), position };
  if (token.type === "number") {
    reader.take();
    return { kind: "number", text: token.text, position };
  }
  if (token.type === "text") {
    reader.take();
    return { kind: "text", value: token.text, position };
  }
  if (reader.takeSymbol("(")) {
    const inner = parseExpr(reader);
    reader.expectSymbol(")");
    return inner;
  }
  if (token.word === "CASE" && !reader.isSymbol(".", 1)) return parseCase(reader);
  if (token.type === "name" || token.type === "quoted") return parseNamed(reader);
  throw reader.unexpected("an expression");
}

/** Words that begin a clause, so that they are no names unless quoted. */
export const clauseWords: ReadonlySet<string> = new Set([
  ...["SELECT", "FROM", "WHERE", "GROUP", "WINDOW", "HAVING", "QUALIFY", "INTO", "UNION", "JOIN"],
  ...["INNER", "LEFT", "RIGHT", "FULL", "ON", "SET", "WATERMARK", "ORDER", "LIMIT", "AS", "AND"],
  ...["OR", "NOT", "THEN", "WHEN", "ELSE", "CROSS", "FORMAT", "BY"],
]);

function parseNamed(reader: TokenReader): AstExpr {
  const token = reader.take();
  const position = reader.position(token);
  if (token.word === "TRUE" || token.word === "FALSE") {
    return { kind: "boolean", value: token.word === "TRUE", position };
  }
  if (token.word === "NULL") return { kind: "null", position };
  if (reader.isSymbol("(")) return parseCall(reader, token.text, position);
  if (clauseWords.has(token.word)) {
    throw reader.error(`unexpected "${token.text}", expected an expression`, token);
  }
  if (!reader.takeSymbol(".")) {
    const quoted = token.type === "quoted";
    return { kind: "name", qualifier: undefined, name: token.text, position, quoted };
  }
  const name = reader.peek();
  if (name.type !== "name" && name.type !== "quoted") throw reader.unexpected("a column");
  reader.take();
  return { kind: "name", qualifier: token.text, name: name.text, position };
}

function parseCall(reader: TokenReader, name: string, position: AstExpr["position"]): AstExpr {
  const word = name.toUpperCase();
  reader.expectSymbol("(");
  if (word === "CAST" || word === "CASTTOTYPE" || word === "TRY_CAST") {
    const arg = parseExpr(reader);
    reader.expectWords("AS");
    const type = parseType(reader);
    reader.expectSymbol(")");
    return reader.made({ kind: "cast", arg, type, lenient: word === "CASTTOTYPE", position }, arg);
  }
  const star = reader.isSymbol("*") && reader.isSymbol(")", 1);
  if (star) reader.take();
  const distinct = reader.takeWords("DISTINCT");
  const args = star || reader.isSymbol(")") ? [] : parseList(reader, parseExpr);
  reader.expectSymbol(")");
  const filter = parseFilter(reader);
  const over = reader.takeWords("OVER") ? parseOver(reader) : undefined;
  const call: AstCall = { kind: "call", name, args, star, distinct, filter, over, position };
  return reader.made(call, ...args, filter);
}

function parseFilter(reader: TokenReader): AstExpr | undefined {
  if (!(reader.isWords("FILTER") && reader.isSymbol("(", 1))) return undefined;
  reader.take();
  reader.expectSymbol("(");
  reader.expectWords("WHERE");
  const filter = parseExpr(reader);
  reader.expectSymbol(")");
  return filter;
}

function parseOver(reader: TokenReader): AstOver {
  reader.expectSymbol("(");
  const partition = reader.takeWords("PARTITION", "BY") ? parseList(reader, parseExpr) : [];
  const order = reader.takeWords("ORDER", "BY") ? parseList(reader, parseOrder) : [];
  const ttlMs = reader.takeWords("STATE", "TTL") ? parseDuration(reader) : undefined;
  reader.expectSymbol(")");
  return { partition, order, ttlMs };
}

function parseOrder(reader: TokenReader): AstOrder {
  const expr = parseExpr(reader);
  const descending = reader.takeWords("DESC");
  if (!descending) reader.takeWords("ASC");
  return { expr, descending };
}

function parseCase(reader: TokenReader): AstExpr {
  const position = reader.position(reader.take());
  const operand = reader.isWords("WHEN") ? undefined : parseExpr(reader);
  const branches: { readonly when: AstExpr; readonly result: AstExpr }[] = [];
  while (reader.takeWords("WHEN")) {
    const when = parseExpr(reader);
    reader.expectWords("THEN");
    branches.push({ when, result: parseExpr(reader) });
  }
  if (branches.length === 0) throw reader.unexpected("WHEN");
  const otherwise = reader.takeWords("ELSE") ? parseExpr(reader) : undefined;
  reader.expectWords("END");
  const parts = branches.flatMap(({ when, result }) => [when, result]);
  const node: AstExpr = { kind: "case", operand, branches, otherwise, position };
  return reader.made(node, operand, otherwise, ...parts);
}

export function parseType(reader: TokenReader): TypeName {
  const token = reader.peek();
  if (token.type !== "name" && token.type !== "quoted") throw reader.unexpected("a type");
  const word = token.text.toUpperCase();
  if (!typeNames.has(word)) {
    throw new DialectError(2023, `there is no type ${token.text}`, {
      position: reader.position(token),
      hint: hintOfType(token.text),
    });
  }
  reader.take();
  return word as TypeName;
}

/** Types of other databases, and what they are here. */
const typesElsewhere: ReadonlyMap<string, TypeName> = new Map<string, TypeName>([
  ...["TINYINT"].map((name) => [name, "INT8"] as const),
  ...["SMALLINT"].map((name) => [name, "INT16"] as const),
  ...["INT", "INTEGER"].map((name) => [name, "INT32"] as const),
  ...["BIGINT", "LONG"].map((name) => [name, "INT64"] as const),
  ...["UINT", "UINTEGER"].map((name) => [name, "UINT32"] as const),
  ...["UBIGINT"].map((name) => [name, "UINT64"] as const),
  ...["REAL", "FLOAT"].map((name) => [name, "FLOAT32"] as const),
  ...["DOUBLE", "DECIMAL", "NUMERIC"].map((name) => [name, "FLOAT64"] as const),
  ...["BOOL"].map((name) => [name, "BOOLEAN"] as const),
  ...["VARCHAR", "TEXT", "STRING", "JSON"].map((name) => [name, "VARSIZED"] as const),
]);
const timesElsewhere = ["TIMESTAMP", "TIMESTAMPTZ", "DATETIME", "DATE", "TIME"];

function hintOfType(name: string): string {
  const word = name.toUpperCase();
  const here = typesElsewhere.get(word);
  if (here !== undefined) return `It is ${here} here.`;
  if (timesElsewhere.includes(word)) {
    return "A time is UINT64 or INT64, in milliseconds since 1970; ISO_TIMES reads ISO 8601 text.";
  }
  return didYouMean(name, typeNames) ?? `The types are ${[...typeNames].join(", ")}.`;
}

/** One or more, separated by commas. */
export function parseList<T>(reader: TokenReader, parse: (reader: TokenReader) => T): readonly T[] {
  const items = [parse(reader)];
  while (reader.takeSymbol(",")) items.push(parse(reader));
  return items;
}
