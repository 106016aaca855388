/**
 * Reads tokens one at a time, and makes errors about them. A token is read when it is first looked
 * at, and a lexer error is thrown then.
 *
 * `contexts` are the open constructs with their own messages; the innermost one names itself in an
 * error. No tree grows higher than `nestingMax`, whether it is nested or a long chain.
 */
import type { PromqlError } from "../engine-types.ts";
import type { Position } from "../model.ts";
import { lex } from "./lexer.ts";
import type { Source } from "./source.ts";
import { describeToken, type Token } from "./token.ts";

/** How deep expressions may be nested; well below what the stack allows a recursive walk. */
const nestingMax = 1000;

/** Tokens at which an expression may end. */
const closing: ReadonlySet<string> = new Set([")", "]", "}", "NUMBER", "DURATION"]);

interface Context {
  readonly name: string;
  readonly expected: string;
}

export class TokenReader {
  readonly source: Source;
  /** The end of the last closing token, including one that was only looked at. */
  lastClosing = 0;
  readonly #tokens: readonly Token[];
  readonly #contexts: Context[] = [];
  /** The heights of nodes with operands. */
  readonly #heights = new Map<object, number>();
  #index = 0;
  #ahead: Token | undefined;
  #depth = 0;

  constructor(source: Source) {
    this.source = source;
    this.#tokens = lex(source);
  }

  peek(): Token {
    if (this.#ahead !== undefined) return this.#ahead;
    // The last token is the end or an error, and it is never consumed.
    const token = this.#tokens[this.#index] as Token;
    if (token.type === "ERROR") throw this.source.error(token, token.text);
    if (closing.has(token.type)) this.lastClosing = token.end;
    this.#ahead = token;
    return token;
  }

  take(): Token {
    const token = this.peek();
    if (token.type !== "EOF") {
      this.#index += 1;
      this.#ahead = undefined;
    }
    return token;
  }

  /** Consumes a token of that type, or throws an error of the open construct. */
  expect(type: string): Token {
    if (this.peek().type !== type) throw this.unexpected();
    return this.take();
  }

  /** An error about the next token, in the name of `context`. */
  unexpected(context: Context | undefined = this.#contexts.at(-1)): PromqlError {
    const token = this.peek();
    let message = `unexpected ${describeToken(token)}`;
    if (context !== undefined) message += ` in ${context.name}`;
    if (context !== undefined && context.expected !== "")
      message += `, expected ${context.expected}`;
    return this.error(token, message);
  }

  error(position: Position, message: string): PromqlError {
    return this.source.error({ start: position.start, end: position.end }, message);
  }

  /** The construct is open while `parse` runs. */
  within<T>(context: Context, parse: () => T): T {
    this.#contexts.push(context);
    const result = parse();
    this.#contexts.pop();
    return result;
  }

  /** Wraps everything that recurses. */
  nested<T>(parse: () => T): T {
    this.#depth += 1;
    this.#checkHeight(this.#depth, this.peek());
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  /** Registers a node with operands. */
  made<Node extends { readonly position: Position }>(
    node: Node,
    operands: readonly object[],
  ): Node {
    let height = 0;
    for (const operand of operands) height = Math.max(height, this.#heights.get(operand) ?? 1);
    this.#checkHeight(height + 1, node.position);
    this.#heights.set(node, height + 1);
    return node;
  }

  /** Registers the same node with a modifier, at the same height. */
  remade<Node extends object>(before: object, after: Node): Node {
    this.#heights.set(after, this.#heights.get(before) ?? 1);
    return after;
  }

  #checkHeight(height: number, position: Position): void {
    if (height <= nestingMax) return;
    throw this.error(position, `expression is nested more than ${nestingMax} levels deep`);
  }
}
