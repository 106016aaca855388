/**
 * Selects the run's statements from a server's statistics, which cover all clients; others' texts
 * must not be shown. Texts are compared without constants, parameters, comments, quotes, spaces and
 * case, since each server normalises them its own way.
 */
import type { StatementFigures } from "./target.ts";

/** `texts` are the template's statements. Entries without a text (in parentheses) are kept. */
export function ownStatements(
  figures: readonly StatementFigures[],
  texts: readonly string[],
): readonly StatementFigures[] {
  const isOwn = matcherOf(texts);
  return figures.filter(({ text }) => isOwn(text) || isWithoutText(text));
}

/**
 * Texts without figures on the server (AM4). None when the server counts statements without their
 * texts.
 */
export function statementsNotFound(
  figures: readonly StatementFigures[],
  texts: readonly string[],
): readonly string[] {
  if (figures.some(({ text }) => isWithoutText(text))) return [];
  return texts.filter((own) => !figures.some(({ text }) => matcherOf([own])(text)));
}

function isWithoutText(text: string): boolean {
  return /^\(.*\)$/.test(text);
}

function matcherOf(texts: readonly string[]): (text: string) => boolean {
  const plain = new Set(texts.map(plainStatement));
  const shortened = new Set(texts.map((text) => shortenedLists(plainStatement(text))));
  return (text) =>
    text.includes("...")
      ? shortened.has(shortenedLists(plainStatement(text)))
      : plain.has(plainStatement(text));
}

/** Matches strings and comments in one pass, since each may contain the other's delimiters. */
const quoted =
  /\be'(?:[^'\\]|''|\\[\s\S])*'|(?:\b[bnx]|\bu&)?'(?:[^']|'')*'|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|`[^`]*`/gi;

export function plainStatement(text: string): string {
  return text
    .replace(quoted, (match) => {
      if (match.startsWith("--") || match.startsWith("/*")) return " ";
      return /^["`]/.test(match) ? match : "?";
    })
    .replace(/\$\d+/g, "?")
    .replace(/(?<![:\w]):[A-Za-z_]\w*/g, "?")
    .replace(/\b(?:true|false|null)\b/gi, "?")
    .replace(
      /(?<![\w.])(?:0[xob][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[-+]?\d+)?)(?!\w)/gi,
      "?",
    )
    .replace(/(?:-\s*)+\?/g, "?") // Postgres treats a number's sign as part of the number.
    .replace(/[`"]/g, "")
    .replace(/\s*([^\w\s?])\s*/g, "$1")
    .replace(/\s*\?\s*/g, "?")
    .replace(/\s+/g, " ")
    .replace(/;$/, "")
    .trim()
    .toLowerCase();
}

/**
 * Postgres from version 18 on writes a list of constants as `$1 /*, ... *\/`, MySQL a list as `...`
 * and rows of VALUES as one.
 */
function shortenedLists(plain: string): string {
  return plain
    .replace(/\.\.\./g, "?")
    .replace(/\?(?:::\w+)?(?:,\?(?:::\w+)?)*/g, "?")
    .replace(/\(\?\)(?:,\(\?\))+/g, "(?)");
}
