/** Splits a script at semicolons outside texts, quoted names and comments (CM5). */
import { duckdbRules, type LexicalRules, scanStatement, scanTokens } from "./tokens.ts";

export interface Split {
  /** Whole statements, without semicolons. Empty ones are left out. */
  readonly statements: readonly string[];
  /** The offset in the script at which each statement begins, in characters. */
  readonly starts: readonly number[];
  /** What follows the last semicolon: an unfinished statement, or blank. */
  readonly rest: string;
}

/** Statements that are not DuckDB's, and in which texts and names may end elsewhere. */
export interface OtherLanguage {
  readonly rules: LexicalRules;
  /** Whether a statement is of this language. What follows a semicolon does not count. */
  takes(text: string): boolean;
}

export function splitStatements(script: string, others: readonly OtherLanguage[] = []): Split {
  const statements: string[] = [];
  const starts: number[] = [];
  let start = 0;
  for (;;) {
    const scans = [...others.map(({ rules }) => rules), duckdbRules].map((rules) =>
      scanStatement(script, start, rules),
    );
    const chosen = scans.find((scan, at) => {
      const language = others[at];
      return language === undefined || language.takes(textOf(script, start, scan));
    });
    const end = chosen?.tokens.at(-1);
    if (end?.text !== ";" || end.kind !== "punctuation") {
      return { statements, starts, rest: script.slice(start) };
    }
    if ((chosen?.tokens.length ?? 0) > 1) {
      const whole = script.slice(start, end.position);
      statements.push(whole.trim());
      starts.push(start + whole.length - whole.trimStart().length);
    }
    start = end.position + 1;
  }
}

function textOf(script: string, start: number, scan: ReturnType<typeof scanStatement>): string {
  const last = scan.tokens.at(-1);
  if (scan.unfinished !== undefined || last === undefined) return script.slice(start);
  return script.slice(start, last.position + last.text.length);
}

/** Whether the text is only white space and comments. */
export function isBlank(text: string): boolean {
  const { tokens, unfinished } = scanTokens(text);
  return tokens.length === 0 && unfinished === undefined;
}
