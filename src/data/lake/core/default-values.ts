/**
 * Defaults of columns. Statements and the model use DuckDB's notation (`'it''s'`, `7`, `now()`).
 * The catalog stores a literal without quotes (`it's`, `7`) and says whether it is a literal.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

export interface StoredDefault {
  /** The text `NULL` for no default. */
  readonly value: string;
  readonly kind: "literal" | "expression";
}

const quoted = /^(?:[A-Z][A-Z_ ]*\s*)?'((?:[^']|'')*)'$/i;
const bare = /^(?:[+-]?\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?|[+-]?\.\d+(?:e[+-]?\d+)?|true|false)$/i;
const bareTypes = /^(boolean|u?int(8|16|32|64|128)|float32|float64|decimal\(.*\))$/i;

/** The unquoted text of a literal; undefined for any other expression. */
function literalOf(words: string): string | undefined {
  const text = words.trim();
  const match = quoted.exec(text);
  if (match !== null) return (match[1] as string).replaceAll("''", "'");
  return bare.test(text) ? text : undefined;
}

export function storedDefault(words: string | undefined): StoredDefault {
  if (words === undefined || /^\s*NULL\s*$/i.test(words)) return { value: "NULL", kind: "literal" };
  const literal = literalOf(words);
  return literal === undefined
    ? { value: words, kind: "expression" }
    : { value: literal, kind: "literal" };
}

/** A new column's value in existing rows. A literal, since it is not computed per row. */
export function storedInitialDefault(words: string | undefined): string | null {
  if (words === undefined || /^\s*NULL\s*$/i.test(words)) return null;
  const literal = literalOf(words);
  if (literal !== undefined) return literal;
  throw new OperatingError("bad_request", "never", `the default ${words} is not a literal`, {
    hint: "a column that is added to a table has a plain value for the rows that exist, or NULL",
  });
}

/** The default in DuckDB's notation. `type` is DuckLake's. */
export function wordsOf(type: string, value: string, kind: StoredDefault["kind"]): string {
  if (kind === "expression") return value;
  return bareTypes.test(type) && bare.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
}
