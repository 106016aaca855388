/** Regular expressions of queries: what is wrong with one is an error of the query. */
import {
  compileRegex as compile,
  RegexError,
  type TextMatcher,
} from "../../../../data/regex/core/index.ts";
import { PromqlError } from "./engine-types.ts";

export type { TextMatcher };

/** Throws `PromqlError`. So do `test` and `exec` of a pattern that takes too long. */
export function compileRegex(pattern: string): TextMatcher {
  const matcher = translated(() => compile(pattern));
  return {
    ...matcher,
    test: (text) => translated(() => matcher.test(text)),
    exec: (text) => translated(() => matcher.exec(text)),
  };
}

function translated<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RegexError) throw new PromqlError("execution", error.message);
    throw error;
  }
}
