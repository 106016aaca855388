/**
 * Cuts a script into statements at the semicolons that are not inside a text, a quoted name or a comment.
 * It knows DuckDB's quoting and nothing else of SQL.
 */
import { scanTokens } from "./tokens.ts";

export interface Split {
  /** Whole statements, without their semicolons; empty ones are left out. */
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

/** Whether there is nothing in it but white space and comments. */
export function isBlank(text: string): boolean {
  const { tokens, unfinished } = scanTokens(text);
  return tokens.length === 0 && unfinished === undefined;
}
