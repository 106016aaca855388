/**
 * Reads tokens one at a time, and makes errors about them. Nothing is nested deeper than
 * `nestingMax`, and no tree grows higher than `heightMax`, so that whoever walks one may recurse.
 */
import { DialectError, type Position } from "../dialect-error.ts";
import { didYouMean } from "../suggest.ts";
import { lex, lineStartsOf, positionIn, type Token } from "./lexer.ts";

/** How deep a statement may be nested, and how high its trees may be; chains count, too. */
const nestingMax = 200;
const heightMax = 600;

export class TokenReader {
  readonly text: string;
  readonly #tokens: readonly Token[];
  readonly #lineStarts: readonly number[];
  /** The heights of nodes with operands. */
  readonly #heights = new Map<object, number>();
  #index = 0;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
    this.#tokens = lex(text);
    this.#lineStarts = lineStartsOf(text);
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#index + ahead, this.#tokens.length - 1)] as Token;
  }

  /** The token before the next one. */
  previous(): Token {
    return this.#tokens[Math.max(0, this.#index - 1)] as Token;
  }

  take(): Token {
    const token = this.peek();
    if (token.type !== "end") this.#index += 1;
    return token;
  }

  /** Whether the next words are these, in any case. */
  isWords(...words: readonly string[]): boolean {
    return words.every((word, ahead) => this.peek(ahead).word === word);
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.type === "symbol" && token.text === symbol;
  }

  /** Consumes these words if they are next. */
  takeWords(...words: readonly string[]): boolean {
    if (!this.isWords(...words)) return false;
    this.#index += words.length;
    return true;
  }

  takeSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.#index += 1;
    return true;
  }

  expectWords(...words: readonly string[]): void {
    for (const word of words) {
      if (!this.takeWords(word)) throw this.unexpected(word, [word]);
    }
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected(`"${symbol}"`);
  }

  position(token: Token = this.peek()): Position {
    return positionIn(this.#lineStarts, token.start);
  }

  /** An error about the next token. `words` are keywords that could be meant. */
  unexpected(expected: string, words: readonly string[] = []): DialectError {
    const token = this.peek();
    const near = token.type === "name" ? didYouMean(token.text, words) : undefined;
    const hint = near ?? this.#hintBefore(token);
    return this.error(`unexpected ${describe(token)}, expected ${expected}`, token, hint);
  }

  /** What stands before a token may be why nobody expected it. */
  #hintBefore(token: Token): string | undefined {
    const before = this.previous();
    if (before === token) return undefined;
    if (before.type === "symbol" && before.text === ",") return "There is a comma before it.";
    const touches = before.end === token.start && token.type === "name";
    if (before.type !== "text" || !touches) return undefined;
    return "A quote within a text is doubled: 'it''s'.";
  }

  error(message: string, token: Token = this.peek(), hint?: string): DialectError {
    return new DialectError(2000, message, { position: this.position(token), hint });
  }

  /** Runs a parser one level deeper. */
  nested<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > nestingMax) throw this.#tooDeep();
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  /** Notes the height of a node that was made of others. */
  made<T extends object>(node: T, ...parts: readonly (object | undefined)[]): T {
    let height = 0;
    for (const part of parts) {
      if (part !== undefined) height = Math.max(height, this.#heights.get(part) ?? 0);
    }
    if (height >= heightMax) throw this.#tooDeep();
    this.#heights.set(node, height + 1);
    return node;
  }

  #tooDeep(): DialectError {
    return this.error(
      `the statement is too deep: ${nestingMax} levels, or ${heightMax} operators in a row`,
    );
  }
}

function describe(token: Token): string {
  switch (token.type) {
    case "end":
      return "end of the statement";
    case "text":
      return "text";
    case "number":
      return `number ${token.text}`;
    default:
      return `"${token.text.slice(0, 40)}"`;
  }
}
