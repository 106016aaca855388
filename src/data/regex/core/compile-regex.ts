/**
 * Regular expressions that match a whole text, like Go's, in time linear in the text's length.
 * JavaScript's engine is not used, because it backtracks: `(a+)+b` could keep it busy for ever.
 */
import { Effort } from "./effort.ts";
import { findGroups } from "./find-groups.ts";
import { LazyAutomaton } from "./lazy-automaton.ts";
import { parseRegex, RegexSyntaxError } from "./parse-regex.ts";
import { compileProgram, type Program } from "./program.ts";
import { RegexError } from "./regex-error.ts";
import type { ParsedRegex } from "./regex-tree.ts";
import { globTest, literalTexts } from "./simple-shapes.ts";

export interface TextMatcher {
  /** Whether the whole text matches. */
  test(text: string): boolean;
  /**
   * What the groups matched, the whole text first; unused groups are empty. Undefined: no match.
   */
  exec(text: string): string[] | undefined;
  /** By number, as in `exec`; empty for a group without a name. */
  readonly groupNames: readonly string[];
  /** All matching texts, if they are known, for callers with an index by value. */
  readonly literals: readonly string[] | undefined;
}

/** Throws `RegexError`. So do `test` and `exec` of a pattern that takes too long (`Effort`). */
export function compileRegex(pattern: string): TextMatcher {
  const parsed = parse(pattern);
  const literals = literalTexts(parsed.tree);
  const effort = new Effort();
  let program: Program | undefined;
  const machine = (): Program => {
    program ??= compileProgram(parsed.tree, parsed.groupNames.length);
    return program;
  };
  return {
    test: testOf(parsed, literals, machine, effort),
    exec: (text) => findGroups(machine(), text, effort),
    groupNames: parsed.groupNames,
    literals,
  };
}

function parse(pattern: string): ParsedRegex {
  try {
    return parseRegex(pattern);
  } catch (error) {
    if (error instanceof RegexSyntaxError) throw new RegexError(error.message);
    throw error;
  }
}

/** Chooses the cheapest test for the pattern. */
function testOf(
  { tree }: ParsedRegex,
  literals: readonly string[] | undefined,
  machine: () => Program,
  effort: Effort,
): (text: string) => boolean {
  const only = literals?.[0];
  if (literals?.length === 1) return (text) => text === only;
  if (literals !== undefined) {
    const texts = new Set(literals);
    return (text) => texts.has(text);
  }
  return globTest(tree) ?? machineTest(machine(), effort);
}

function machineTest(program: Program, effort: Effort): (text: string) => boolean {
  if (!LazyAutomaton.supports(program)) {
    return (text) => findGroups(program, text, effort) !== undefined;
  }
  const automaton = new LazyAutomaton(program, effort);
  const matchesEmpty = findGroups(program, "", effort) !== undefined;
  return (text) => (text === "" ? matchesEmpty : automaton.test(text));
}
