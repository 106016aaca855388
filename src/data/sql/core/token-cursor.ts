/** A position in the tokens of one statement, with the common steps of head parsers. */
import { assert, type OperatingError } from "../../../ground/kernel/errors.ts";
import { badSql } from "./bad-sql.ts";
import { nameKey, needsQuotes } from "./names.ts";
import type { TableName, TextSpan } from "./statement.ts";
import { keywordOf, type Token, tokenize } from "./tokens.ts";

const noKeywords: ReadonlySet<string> = new Set();
/**
 * A common name for the time of a row. DuckDB wants quotes since it has time travel, but where only
 * a column can stand, it is unambiguous.
 */
const columnKeywords: ReadonlySet<string> = new Set(["AT"]);

export class TokenCursor {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  /** `tokens` are by default those of one statement. */
  constructor(text: string, tokens: readonly Token[] = oneStatement(text)) {
    this.#text = text;
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** The number of tokens taken so far: where a span begins or ends. */
  get index(): number {
    return this.#at;
  }

  /** Undefined after the last one. */
  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw this.unexpected("more");
    this.#at += 1;
    return token;
  }

  /** The keyword there, in capitals; empty for anything but a word. */
  keyword(ahead = 0): string {
    return keywordOf(this.peek(ahead));
  }

  isAt(...keywords: readonly string[]): boolean {
    return keywords.every((keyword, ahead) => this.keyword(ahead) === keyword);
  }

  /** Takes all of the keywords, in order, or none. */
  take(...keywords: readonly string[]): boolean {
    if (!this.isAt(...keywords)) return false;
    this.#at += keywords.length;
    return true;
  }

  expect(keyword: string): void {
    if (!this.take(keyword)) throw this.unexpected(keyword);
  }

  isAtSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    if (token?.kind !== "punctuation" && token?.kind !== "operator") return false;
    return token.text === symbol;
  }

  takeSymbol(symbol: string): boolean {
    if (!this.isAtSymbol(symbol)) return false;
    this.#at += 1;
    return true;
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected(`"${symbol}"`);
  }

  /** `what` it names is for the error. `allowed` are keywords that may be names here. */
  name(what: string, allowed: ReadonlySet<string> = noKeywords): string {
    const token = this.peek();
    if (token?.kind === "text") {
      const hint = "Names stand in double quotes; single quotes are for texts.";
      throw this.fail(`${what} expected, but here is a text`, hint);
    }
    const keyword = keywordOf(token);
    if (keyword !== "" && needsQuotes(keyword) && !allowed.has(keyword)) {
      const hint = `If it is a name, write it in double quotes: "${token?.text}".`;
      throw this.fail(`${what} expected, but ${keyword} is a keyword`, hint);
    }
    if (token?.kind !== "word" && token?.kind !== "quotedName") throw this.unexpected(what);
    this.#at += 1;
    return token.value ?? token.text;
  }

  isAtName(): boolean {
    const { kind } = this.peek() ?? {};
    return kind === "quotedName" || (kind === "word" && !needsQuotes(this.keyword()));
  }

  tableName(): TableName {
    const position = this.peek()?.position ?? this.#text.length;
    const parts = [this.name("the name of a table")];
    while (this.takeSymbol(".")) parts.push(this.name("a name after the dot"));
    if (parts.length > 2) {
      const message = "a table's name has at most two parts, its schema and its own name";
      throw badSql(message, this.#text, position);
    }
    const [name, schema] = parts.reverse();
    assert(name !== undefined, "a table's name has a part");
    return { schema, name, position };
  }

  /** Distinct names of columns: `(a, b, c)`. */
  columnNames(): readonly string[] {
    this.expectSymbol("(");
    const names: string[] = [];
    const seen = new Set<string>();
    do {
      names.push(this.columnName(seen));
    } while (this.takeSymbol(","));
    this.expectSymbol(")");
    return names;
  }

  /** A name that is not in `seen`. */
  columnName(seen: Set<string>): string {
    const position = this.peek()?.position;
    const name = this.name("the name of a column", columnKeywords);
    if (seen.has(nameKey(name))) {
      throw badSql(`the column ${name} is named twice`, this.#text, position);
    }
    seen.add(nameKey(name));
    return name;
  }

  /**
   * Tokens until `isEnd` says so. It never ends inside brackets, and always before a bracket that
   * closes an earlier one.
   */
  spanUntil(isEnd: () => boolean, what: string): TextSpan {
    const from = this.#at;
    let depth = 0;
    while (!this.isAtEnd) {
      const token = this.peek();
      const sign = token?.kind === "punctuation" ? token.text : "";
      if (depth === 0 && (/[)\]}]/.test(sign) || isEnd())) break;
      if (/[([{]/.test(sign)) depth += 1;
      if (/[)\]}]/.test(sign)) depth -= 1;
      this.#at += 1;
    }
    if (this.#at === from) throw this.unexpected(what);
    return this.spanFrom(from);
  }

  /** All remaining tokens. */
  rest(what: string): TextSpan {
    return this.spanUntil(() => false, what);
  }

  /** From the token at `index` up to here. */
  spanFrom(index: number): TextSpan {
    const first = this.#tokens[index];
    const last = this.#tokens[this.#at - 1];
    assert(first !== undefined && last !== undefined, "a span has a token");
    const text = this.#text.slice(first.position, last.position + last.text.length);
    return { text, position: first.position };
  }

  end(): void {
    if (!this.isAtEnd) throw this.unexpected("the end of the statement");
  }

  /** An error at this position. */
  fail(message: string, hint?: string, ahead = 0): OperatingError {
    return badSql(message, this.#text, this.peek(ahead)?.position ?? this.#endOfText(), hint);
  }

  failAt(position: number, message: string, hint?: string): OperatingError {
    return badSql(message, this.#text, position, hint);
  }

  unexpected(wanted: string): OperatingError {
    const token = this.peek();
    const shown = token === undefined ? "the statement ends" : `here is ${shorten(token.text)}`;
    return this.fail(`${wanted} expected, but ${shown}`);
  }

  #endOfText(): number {
    const last = this.#tokens.at(-1);
    return last === undefined ? this.#text.length : last.position + last.text.length;
  }
}

/** Drops semicolons around the statement; one inside is an error. */
function oneStatement(text: string): readonly Token[] {
  const tokens = tokenize(text);
  const isSeparator = ({ kind, text }: Token) => kind === "punctuation" && text === ";";
  const first = tokens.findIndex((token) => !isSeparator(token));
  if (first < 0) return [];
  const statement = tokens.slice(first, tokens.findLastIndex((token) => !isSeparator(token)) + 1);
  const separator = statement.findIndex(isSeparator);
  if (separator < 0) return statement;
  const second = statement.slice(separator).find((token) => !isSeparator(token));
  const hint = "Send them one after the other.";
  throw badSql("one statement at a time: a second one begins here", text, second?.position, hint);
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
