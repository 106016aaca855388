/** Checks regular expressions when a query is bound, so that none fails at its first row. */
import { checkRegex, compileRegex } from "../../../../../data/regex/core/index.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";

export function checkPattern(pattern: Expr, position: Position): void {
  if (pattern.kind !== "literal") return;
  const wrong = checkRegex(String(pattern.value));
  if (wrong === undefined) return;
  throw new DialectError(2010, `this is no regular expression: ${wrong}`, {
    position,
    hint: "The syntax is RE2's: no back-references and no look-around.",
  });
}

/** A group that is a constant must be one of the pattern's. */
export function checkGroup(pattern: Expr, group: Expr, position: Position): void {
  if (pattern.kind !== "literal" || group.kind !== "literal" || group.value === null) return;
  const count = compileRegex(String(pattern.value)).groupNames.length - 1;
  const number = Number(group.value);
  if (number >= 0 && number <= count) return;
  throw new DialectError(2010, `the pattern has no group ${number}`, {
    position,
    hint: `It has ${count === 1 ? "1 group" : `${count} groups`}; 0 is the whole match.`,
  });
}
