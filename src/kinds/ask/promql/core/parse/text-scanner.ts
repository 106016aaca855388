/** Reads a text by patterns, and keeps the position. */
import type { PromqlError } from "../engine-types.ts";
import { Source } from "./source.ts";

export class TextScanner {
  readonly #source: Source;
  at = 0;

  constructor(text: string) {
    this.#source = new Source(text);
  }

  get text(): string {
    return this.#source.text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Consumes what the sticky pattern matches here; undefined when it does not match. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** An error at this position, or another one. */
  error(message: string, at: number = this.at): PromqlError {
    const start = this.#source.byteAt(at);
    return this.#source.error({ start, end: start + 1 }, message);
  }
}
