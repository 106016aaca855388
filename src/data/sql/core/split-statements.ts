/** Splits a script at semicolons outside texts, quoted names and comments (CM5). */
import { scanTokens } from "./tokens.ts";

export interface Split {
  /** Whole statements, without semicolons. Empty ones are left out. */
  readonly statements: readonly string[];
  /** What follows the last semicolon: an unfinished statement, or blank. */
  readonly rest: string;
}

export function splitStatements(script: string): Split {
  const statements: string[] = [];
  let start = 0;
  let isEmpty = true;
  for (const { kind, text, position } of scanTokens(script).tokens) {
    if (kind !== "punctuation" || text !== ";") {
      isEmpty = false;
      continue;
    }
    if (!isEmpty) statements.push(script.slice(start, position).trim());
    start = position + 1;
    isEmpty = true;
  }
  return { statements, rest: script.slice(start) };
}

/** Whether the text is only white space and comments. */
export function isBlank(text: string): boolean {
  const { tokens, unfinished } = scanTokens(text);
  return tokens.length === 0 && unfinished === undefined;
}
