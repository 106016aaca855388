/**
 * Cuts the text of statements into tokens. Names stand alone, in double quotes or in backticks;
 * texts in single quotes, where `''` and `\'` are a quote and `\\` is a backslash. Comments are
 * `-- …` to the end of the line, and those between `/*` and its end.
 */
import { DialectError, type Position } from "../dialect-error.ts";

export type TokenType = "name" | "quoted" | "number" | "text" | "symbol" | "end";

export interface Token {
  readonly type: TokenType;
  /** The name, the number's digits, the text's value, or the symbol. */
  readonly text: string;
  /** The text in capital letters, for names that are not quoted; else empty. */
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** The longest text of all statements together, in characters, and the longest of one. */
export const textCharactersMax = 1_048_576;
export const statementCharactersMax = 131_072;

const symbols = new Set([
  ...["<=>", "<=", ">=", "==", "!=", "<>", "<<", ">>", "||", "::"],
  ...["(", ")", ",", ";", ".", "=", "<", ">", "+", "-", "*", "/", "%", "!", "&", "|", "^", "~"],
]);
const symbolCharactersMax = 3;
const space = /\s*/y;
const nameForm = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const numberForm = /0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;

/** Where the lines of a text begin. */
export function lineStartsOf(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    starts.push(at + 1);
  }
  return starts;
}

export function positionIn(lineStarts: readonly number[], offset: number): Position {
  let low = 0;
  let high = lineStarts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((lineStarts[middle] as number) <= offset) low = middle;
    else high = middle;
  }
  return { line: low + 1, column: offset - (lineStarts[low] as number) + 1 };
}

export function lex(text: string): readonly Token[] {
  if (text.length > textCharactersMax) {
    throw new DialectError(
      2000,
      `the text has ${text.length} characters, the most is ${textCharactersMax}`,
    );
  }
  const tokens: Token[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const token = readToken(text, at);
    tokens.push(token);
    at = skipSpace(text, token.end);
  }
  tokens.push({ type: "end", text: "", word: "", start: text.length, end: text.length });
  return tokens;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    let code = text.charCodeAt(at);
    while (code === 32 || code === 10) code = text.charCodeAt(++at);
    if (code < 32 || code > 127) {
      space.lastIndex = at;
      space.test(text);
      at = space.lastIndex;
      code = text.charCodeAt(at);
    }
    if (code === 45 && text.charCodeAt(at + 1) === 45) {
      const end = text.indexOf("\n", at);
      at = end === -1 ? text.length : end + 1;
    } else if (code === 47 && text.charCodeAt(at + 1) === 42) {
      const end = text.indexOf("*/", at + 2);
      if (end === -1) throw lexError(text, at, "this comment has no end");
      at = end + 2;
    } else {
      return at;
    }
  }
}

function readToken(text: string, start: number): Token {
  const first = text[start] as string;
  if (first === "'") return readText(text, start);
  if (first === '"' || first === "`") return readQuoted(text, start, first);
  const name = isLetter(text.charCodeAt(start)) ? match(nameForm, text, start) : undefined;
  if (name !== undefined) {
    const end = start + name.length;
    return { type: "name", text: name, word: name.toUpperCase(), start, end };
  }
  const isNumeric = (first >= "0" && first <= "9") || first === ".";
  const number = isNumeric ? match(numberForm, text, start) : undefined;
  if (number !== undefined) {
    return { type: "number", text: number, word: "", start, end: start + number.length };
  }
  for (let length = symbolCharactersMax; length > 0; length -= 1) {
    const symbol = text.slice(start, start + length);
    // At the end of the text a slice is shorter: it is found when its length comes.
    if (symbol.length === length && symbols.has(symbol)) {
      return { type: "symbol", text: symbol, word: "", start, end: start + length };
    }
  }
  throw lexError(text, start, `the character ${JSON.stringify(first)} means nothing here`);
}

function readText(text: string, start: number): Token {
  let value = "";
  let at = start + 1;
  let from = at;
  for (; at < text.length; at += 1) {
    const character = text[at];
    const next = text[at + 1];
    if (character === "\\" && (next === "'" || next === "\\")) {
      value += text.slice(from, at) + next;
      at += 1;
      from = at + 1;
    } else if (character === "'" && next === "'") {
      value += `${text.slice(from, at)}'`;
      at += 1;
      from = at + 1;
    } else if (character === "'") {
      value += text.slice(from, at);
      return { type: "text", text: value, word: "", start, end: at + 1 };
    }
  }
  throw lexError(text, start, "this text has no closing quote");
}

function readQuoted(text: string, start: number, quote: string): Token {
  let value = "";
  let from = start + 1;
  for (;;) {
    const end = text.indexOf(quote, from);
    if (end === -1) throw lexError(text, start, `this name has no closing ${quote}`);
    value += text.slice(from, end);
    if (text[end + 1] !== quote) {
      if (value === "") throw lexError(text, start, "a name is empty");
      return { type: "quoted", text: value, word: "", start, end: end + 1 };
    }
    value += quote;
    from = end + 2;
  }
}

/** Whether a name may begin with it; beyond ASCII the form decides. */
function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code > 127;
}

function match(form: RegExp, text: string, at: number): string | undefined {
  form.lastIndex = at;
  return form.exec(text)?.[0];
}

function lexError(text: string, offset: number, message: string): DialectError {
  return new DialectError(2000, message, { position: positionIn(lineStartsOf(text), offset) });
}
