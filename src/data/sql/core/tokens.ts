/**
 * Splits a statement as DuckDB's lexer does (SQ1, SQ2). Tokens are in order and do not overlap;
 * between them are only white space and comments. Characters that DuckDB does not know are
 * `unknown` tokens. A token's `position` is in characters.
 */
import { badSql } from "./bad-sql.ts";

export type TokenKind =
  | "word"
  | "quotedName"
  | "text"
  | "number"
  | "operator"
  /** `( ) [ ] { } , ; .` */
  | "punctuation"
  | "parameter"
  | "unknown";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly position: number;
  /** A name or text without quotes and escapes; undefined for escapes unknown to DuckDB. */
  readonly value: string | undefined;
}

export interface Scan {
  readonly tokens: readonly Token[];
  /** What was opened and never closed. `tokens` end before it. */
  readonly unfinished: Unfinished | undefined;
}

export interface Unfinished {
  readonly position: number;
  readonly what: string;
  /** The text that would close it. */
  readonly closing: string;
}

type Unclosed = Omit<Unfinished, "position">;

/** Differences between the lexers of databases. */
export interface LexicalRules {
  readonly commentsNest: boolean;
  /** Names may be in backticks too. */
  readonly backticks: boolean;
  /** In a text `\\'` is a quote and `\\\\` a backslash, besides `''`. */
  readonly backslashes?: boolean;
}

export const duckdbRules: LexicalRules = { commentsNest: true, backticks: false };

/** Spaces of other widths and the byte order mark, which are blanks to DuckDB outside quotes. */
const wideSpaces = "\\u00a0\\u2000-\\u200b\\u202f\\u205f\\u2060\\u3000\\ufeff";
const letter = `(?:[A-Za-z_]|(?![${wideSpaces}])[\\u0080-\\uffff])`;
const letterOrDigit = `(?:[A-Za-z0-9_]|(?![${wideSpaces}])[\\u0080-\\uffff])`;
const digits = "[0-9](?:_?[0-9])*";

const space = new RegExp(`[ \\t\\n\\r\\f${wideSpaces}]+|--[^\\n\\r]*`, "y");
const commentMark = /\/\*|\*\//g;
const dollarQuote = new RegExp(`\\$(?:${letter}${letterOrDigit}*)?\\$`, "y");
const parameter = new RegExp(`\\$(?:${digits}|${letter}${letterOrDigit}*)|\\?(?:${digits})?`, "y");
const word = new RegExp(`${letter}(?:${letterOrDigit}|\\$)*`, "y");
const number = new RegExp(
  `(?:${digits}(?:\\.(?!\\.)(?:${digits})?)?|\\.${digits})(?:[eE][-+]?${digits})?`,
  "y",
);
const punctuation = /[()[\]{},;]|\.(?!\.)/y;
const colonsAndDots = /::|:=|:|\.\.|#/y;
const operators = /[~!@^&|`+\-*/%<>=]+/y;
/** Between the parts of a text: blanks and line comments, with at least one line break. */
const continuation = new RegExp(
  `(?:[ \\t\\f${wideSpaces}]|--[^\\n\\r]*(?=[\\n\\r]))*[\\n\\r](?:[ \\t\\n\\r\\f${wideSpaces}]|--[^\\n\\r]*(?=[\\n\\r]))*'`,
  "y",
);

export function scanTokens(text: string, rules: LexicalRules = duckdbRules): Scan {
  return scanStatement(text, 0, rules, false);
}

/** From a position to the first semicolon, which is the last token then, or to the end. */
export function scanStatement(
  text: string,
  from: number,
  rules: LexicalRules,
  endsAtSemicolon = true,
): Scan {
  const tokens: Token[] = [];
  let at = from;
  while (at < text.length) {
    const blank = match(space, text, at);
    if (blank !== undefined) {
      at += blank.length;
      continue;
    }
    if (text.startsWith("/*", at)) {
      const end = endOfComment(text, at, rules);
      if (end === undefined) {
        return { tokens, unfinished: { what: "comment", closing: "*/", position: at } };
      }
      at = end;
      continue;
    }
    const next = nextToken(text, at, rules);
    if ("closing" in next) return { tokens, unfinished: { ...next, position: at } };
    tokens.push(next);
    at += next.text.length;
    if (endsAtSemicolon && next.text === ";") break;
  }
  return { tokens, unfinished: undefined };
}

/** Throws `bad_sql` for what is not closed, closed without being opened, or no part of SQL. */
export function tokenize(text: string): readonly Token[] {
  const { tokens, unfinished } = scanTokens(text);
  for (const token of tokens) {
    if (token.kind === "unknown") {
      throw badSql(`unexpected character ${JSON.stringify(token.text)}`, text, token.position);
    }
    if (token.kind === "quotedName" && token.value === "") {
      throw badSql("a quoted name cannot be empty", text, token.position);
    }
  }
  if (unfinished !== undefined) {
    throw badSql(`the ${unfinished.what} is not closed`, text, unfinished.position);
  }
  checkBrackets(text, tokens);
  return tokens;
}

const closers: ReadonlyMap<string, string> = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);

function checkBrackets(text: string, tokens: readonly Token[]): void {
  const open: Token[] = [];
  for (const token of tokens) {
    if (token.kind !== "punctuation") continue;
    if (closers.has(token.text)) open.push(token);
    if (!/[)\]}]/.test(token.text)) continue;
    const opener = open.pop();
    if (opener === undefined) {
      throw badSql(`"${token.text}" closes nothing`, text, token.position);
    }
    const wanted = closers.get(opener.text);
    if (token.text !== wanted) {
      throw badSql(`"${wanted}" expected before "${token.text}"`, text, token.position);
    }
  }
  const last = open.pop();
  if (last !== undefined) throw badSql(`"${last.text}" is not closed`, text, last.position);
}

/** A word in capitals, for comparing keywords; else empty. Only ASCII: `ſelect` is a name. */
export function keywordOf(token: Token | undefined): string {
  if (token?.kind !== "word") return "";
  return /^[A-Za-z0-9_]+$/.test(token.text) ? token.text.toUpperCase() : "";
}

function nextToken(text: string, at: number, rules: LexicalRules): Token | Unclosed {
  const { backticks, backslashes = false } = rules;
  const first = text[at] ?? "";
  if (first === "'") return scanText(text, at, 0, backslashes ? "escaped" : "text");
  if (first === '"' || (first === "`" && backticks)) return scanQuotedName(text, at, first);
  if (text[at + 1] === "'") {
    if (first === "e" || first === "E") return scanText(text, at, 1, "escaped");
    if (/[xXbB]/.test(first)) return scanText(text, at, 1, "bits");
  }
  const tag = match(dollarQuote, text, at);
  if (tag !== undefined) {
    const end = text.indexOf(tag, at + tag.length);
    if (end < 0) return { what: `text that ${tag} opens`, closing: tag };
    return token("text", text, at, end + tag.length, text.slice(at + tag.length, end));
  }
  for (const [kind, pattern] of simple) {
    const found = match(pattern, text, at);
    if (found !== undefined) return token(kind, text, at, at + found.length, found);
  }
  const run = match(operators, text, at);
  if (run !== undefined) return token("operator", text, at, at + operatorLength(run), undefined);
  const code = text.codePointAt(at) ?? 0;
  return token("unknown", text, at, at + (code > 0xffff ? 2 : 1), undefined);
}

const simple: readonly (readonly [TokenKind, RegExp])[] = [
  ["word", word],
  ["number", number],
  ["punctuation", punctuation],
  ["operator", colonsAndDots],
  ["parameter", parameter],
];

/** A run ends before a comment. It may end with + or - only if it has a sign unknown to SQL. */
function operatorLength(run: string): number {
  const comment = run.search(/\/\*|--/);
  let length = comment < 0 ? run.length : comment;
  while (length > 1 && /[+-]/.test(run[length - 1] ?? "")) {
    if (/[~!@^&|`%]/.test(run.slice(0, length - 1))) break;
    length -= 1;
  }
  return length;
}

function endOfComment(
  text: string,
  at: number,
  { commentsNest }: LexicalRules,
): number | undefined {
  let depth = 0;
  commentMark.lastIndex = at;
  for (let mark = commentMark.exec(text); mark !== null; mark = commentMark.exec(text)) {
    if (mark[0] === "*/") depth -= 1;
    else if (commentsNest || depth === 0) depth += 1;
    if (depth === 0) return mark.index + 2;
  }
  return undefined;
}

function scanQuotedName(text: string, at: number, quote: string): Token | Unclosed {
  let end = text.indexOf(quote, at + 1);
  while (end >= 0 && text[end + 1] === quote) end = text.indexOf(quote, end + 2);
  if (end < 0) return { what: "quoted name", closing: quote };
  const value = text.slice(at + 1, end).replaceAll(quote + quote, quote);
  return token("quotedName", text, at, end + 1, value);
}

/** In `x'…'` and `b'…'` a doubled quote is no quote. */
type TextKind = "text" | "escaped" | "bits";

function scanText(
  text: string,
  at: number,
  prefixLength: number,
  kind: TextKind,
): Token | Unclosed {
  const parts: (string | undefined)[] = kind === "bits" ? [text[at]?.toLowerCase()] : [];
  let start = at + prefixLength + 1;
  for (;;) {
    const end = endOfText(text, start, kind);
    if (end === undefined) return { what: "text", closing: "'" };
    const raw = text.slice(start, end);
    parts.push(kind === "escaped" ? withoutEscapes(raw) : raw.replaceAll("''", "'"));
    const more = match(continuation, text, end + 1);
    if (more === undefined) {
      const value = parts.includes(undefined) ? undefined : parts.join("");
      return token("text", text, at, end + 1, value);
    }
    start = end + 1 + more.length;
  }
}

/** The index of the closing quote. */
function endOfText(text: string, start: number, kind: TextKind): number | undefined {
  let at = start;
  for (;;) {
    const quote = text.indexOf("'", at);
    if (quote < 0) return undefined;
    if (kind === "escaped") {
      const backslash = text.slice(at, quote).indexOf("\\");
      if (backslash >= 0) {
        at += backslash + 2;
        continue;
      }
    }
    if (kind === "bits" || text[quote + 1] !== "'") return quote;
    at = quote + 2;
  }
}

const escapeSequence = /''|\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|[\s\S])/g;
const shortEscapes: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** Undefined where DuckDB gives up: Unicode escapes, and bytes outside ASCII. */
function withoutEscapes(raw: string): string | undefined {
  let unknown = false;
  const value = raw.replaceAll(escapeSequence, (found: string, escaped: string | undefined) => {
    if (escaped === undefined) return "'";
    const isHex = /^x[0-9A-Fa-f]/.test(escaped);
    if (isHex || /^[0-7]/.test(escaped)) {
      const code = isHex
        ? Number.parseInt(escaped.slice(1), 16)
        : Number.parseInt(escaped, 8) & 0xff;
      if (code === 0 || code > 0x7f) unknown = true;
      return String.fromCharCode(code);
    }
    if (/^[uU]/.test(escaped)) unknown = true;
    return shortEscapes.get(escaped) ?? found.slice(1);
  });
  return unknown ? undefined : value;
}

function token(
  kind: TokenKind,
  text: string,
  position: number,
  end: number,
  value: string | undefined,
): Token {
  return { kind, text: text.slice(position, end), position, value };
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
