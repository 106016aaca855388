/**
 * The statements in a text of the language of streams, and the places that the API means: it counts
 * from where a statement begins. Pure.
 */
import type { ErrorPlace } from "../../../api/http.ts";

export interface StatementText {
  readonly text: string;
  /** Characters from the start of the whole text. */
  readonly from: number;
}

/** Texts in quotes, names in double quotes or backticks, comments, or the end of a statement. */
const pieces = /'(?:[^'\\]|\\.|'')*'?|"[^"]*"?|`[^`]*`?|--[^\n]*|\/\*.*?(?:\*\/|$)|;/gs;

export function statementsOf(text: string): readonly StatementText[] {
  const ends = [...text.matchAll(pieces)].flatMap(({ 0: piece, index }) =>
    piece === ";" ? index : [],
  );
  return [...ends, text.length].flatMap((end, at): StatementText[] => {
    const start = at === 0 ? 0 : (ends[at - 1] ?? 0) + 1;
    const whole = text.slice(start, end);
    if (withoutComments(whole).trim() === "") return [];
    const from = start + whole.length - whole.trimStart().length;
    return [{ text: whole.trim(), from }];
  });
}

/** Whether it is one statement that only selects rows, which can be looked at. */
export function canBePreviewed(text: string): boolean {
  const [only, ...more] = statementsOf(text);
  if (only === undefined || more.length > 0) return false;
  return /^(?:SELECT|WITH|\()/i.test(withoutComments(only.text).trim());
}

export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** The word at the place, in characters from the start of the text; `undefined` without a place. */
export function rangeOf(text: string, { position, statement }: ErrorPlace): TextRange | undefined {
  const meant = statementsOf(text)[(statement ?? 1) - 1];
  if (meant === undefined || position === undefined) return undefined;
  const lines = meant.text.split("\n").slice(0, position.line - 1);
  const before = lines.reduce((sum, line) => sum + line.length + 1, 0);
  const from = Math.min(meant.from + before + position.column - 1, text.length);
  const word = /^(?:[\w.]+|"[^"]*"|'[^']*'|[^\s])/.exec(text.slice(from))?.[0].length ?? 1;
  return from < text.length ? { from, to: from + word } : { from: Math.max(0, from - 1), to: from };
}

/** Line and column of a character, as people count. */
export function placeText(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

function withoutComments(text: string): string {
  return text.replaceAll(pieces, (piece) => (/^(?:--|\/\*)/.test(piece) ? "" : piece));
}
