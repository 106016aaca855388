/**
 * Adds settings to statements as a person would: in their text. What a text cannot be parsed of is
 * sent as it is, since the coordinator is to refuse it.
 */
import {
  type AstSetting,
  type Position,
  parseStatements,
  type Statement,
} from "../../../../src/kinds/stream/language/core/index.ts";

export interface AddedSetting {
  /** `"SOURCE".FILE_PATH` and the like. */
  readonly section: string;
  readonly key: string;
  readonly value: string | number;
}

/** Settings that are given already stay as they are. */
export function missing(
  given: readonly AstSetting[],
  added: readonly AddedSetting[],
): readonly AddedSetting[] {
  return added.filter(
    ({ key }) => !given.some(({ path }) => path.at(-1)?.text.toUpperCase() === key),
  );
}

/** The statement with more settings in the SET at its end. */
export function withSet(
  text: string,
  given: readonly AstSetting[],
  added: readonly AddedSetting[],
): string {
  const more = missing(given, added).map(printSetting).join(", ");
  if (more === "") return text;
  if (given.length > 0) return `${text.slice(0, text.lastIndexOf(")"))}, ${more})`;
  return `${text.replace(/\bSET\s*\(\s*\)$/i, "").trimEnd()} SET(${more})`;
}

/** The text with more settings for the inline connector whose type begins at `position`. */
export function withSettingsInPlace(
  text: string,
  position: Position,
  given: readonly AstSetting[],
  added: readonly AddedSetting[],
): string {
  const more = missing(given, added).map(printSetting).join(", ");
  if (more === "") return text;
  const at = text.indexOf("(", offsetIn(text, position)) + 1;
  const comma = given.length > 0 ? ", " : "";
  return `${text.slice(0, at)}${more}${comma}${text.slice(at)}`;
}

/** The one query of the text; `undefined` where it is something else. */
export function queryIn(text: string): Extract<Statement, { readonly kind: "query" }> | undefined {
  try {
    const [statement, ...more] = parseStatements(text);
    return statement?.kind === "query" && more.length === 0 ? statement : undefined;
  } catch {
    return undefined;
  }
}

function printSetting({ section, key, value }: AddedSetting): string {
  const shown = typeof value === "string" ? `'${value}'` : String(value);
  return `${shown} AS "${section}"."${key}"`;
}

function offsetIn(text: string, { line, column }: Position): number {
  const before = text.split("\n").slice(0, line - 1);
  return before.reduce((sum, each) => sum + each.length + 1, column - 1);
}
