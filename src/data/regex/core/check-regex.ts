/** Returns what is wrong with a pattern, in Go's words, or undefined. */
import { parseRegex, RegexSyntaxError } from "./parse-regex.ts";

export function checkRegex(pattern: string): string | undefined {
  try {
    parseRegex(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RegexSyntaxError) return error.message;
    throw error;
  }
}
