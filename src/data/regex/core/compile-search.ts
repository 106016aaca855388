/**
 * Searches for a pattern in UTF-8 bytes, in time linear in the text's length. Whether there is a
 * match costs one table look-up per character; where it is, and its groups, cost more.
 */
import { Effort } from "./effort.ts";
import { findBounds } from "./find-groups.ts";
import { LazyAutomaton } from "./lazy-automaton.ts";
import { parseRegex, RegexSyntaxError } from "./parse-regex.ts";
import { compileSearchProgram } from "./program.ts";
import { RegexError } from "./regex-error.ts";
import { BytesInput } from "./text-input.ts";

export interface ByteSearcher {
  /** How many groups there are, the whole match included. */
  readonly groupCount: number;
  /** Whether the pattern occurs in the bytes `start .. end`. */
  test(bytes: Uint8Array, start: number, end: number): boolean;
  /**
   * The first match at or behind `from`: `bounds`, of twice as many entries as there are groups,
   * gets where each begins and ends, the whole match first; -1 for groups that were not used.
   */
  find(bytes: Uint8Array, start: number, end: number, from: number, bounds: Int32Array): boolean;
}

/** Throws `RegexError`. So do `test` and `find` of a pattern that takes too long (`Effort`). */
export function compileSearch(pattern: string): ByteSearcher {
  const { tree, groupNames } = parse(pattern);
  const groupCount = groupNames.length;
  const program = compileSearchProgram(tree, groupCount);
  const effort = new Effort();
  const input = new BytesInput();
  const scratch = new Int32Array(2 * groupCount);
  const find: ByteSearcher["find"] = (bytes, start, end, from, bounds) => {
    input.set(bytes, start, end);
    return findBounds(program, input, from, effort, bounds);
  };
  if (!LazyAutomaton.supports(program)) {
    const test: ByteSearcher["test"] = (bytes, start, end) =>
      find(bytes, start, end, start, scratch);
    return { groupCount, find, test };
  }
  const automaton = new LazyAutomaton(program, effort, true);
  const matchesEmpty = find(new Uint8Array(0), 0, 0, 0, scratch);
  return {
    groupCount,
    test: (bytes, start, end) =>
      start === end ? matchesEmpty : automaton.occursIn(bytes, start, end),
    find: (bytes, start, end, from, bounds) => {
      // Most texts have no match, which the automaton sees sooner.
      if (from === start && start !== end && !automaton.occursIn(bytes, start, end)) return false;
      return find(bytes, start, end, from, bounds);
    },
  };
}

function parse(pattern: string): ReturnType<typeof parseRegex> {
  try {
    return parseRegex(pattern);
  } catch (error) {
    if (error instanceof RegexSyntaxError) throw new RegexError(error.message);
    throw error;
  }
}
