/** Case folding: which characters differ only in case. */
import { type CharRanges, normalizeRanges, rangePairs, rangesContain } from "./char-ranges.ts";

/** The ranges, with every character that differs from one of theirs only in case. */
export function foldRanges(ranges: CharRanges): CharRanges {
  const { groups, groupOf } = caseGroups();
  const [only = -1, end = -1] = ranges;
  if (ranges.length === 2 && only === end) {
    const group = groupOf.get(only);
    return group === undefined ? ranges : normalizeRanges([...group].map((code) => [code, code]));
  }
  const pairs = rangePairs(ranges);
  const folded = [...pairs];
  for (const group of groups) {
    for (const member of group) {
      if (!rangesContain(ranges, member)) continue;
      for (const code of group) folded.push([code, code]);
      break;
    }
  }
  return normalizeRanges(folded);
}

interface CaseGroups {
  readonly groups: ReadonlySet<ReadonlySet<number>>;
  readonly groupOf: ReadonlyMap<number, ReadonlySet<number>>;
}

let known: CaseGroups | undefined;

/**
 * Groups of such characters, such as k, K and the Kelvin sign. Created on first use from the
 * runtime's case conversions, as far as its simple case folding agrees, which excludes the dotless
 * i.
 */
function caseGroups(): CaseGroups {
  if (known !== undefined) return known;
  const groupOf = new Map<number, Set<number>>();
  for (let code = 0; code < 0x1f000; code += 1) {
    // Skips blocks without case: ideographs, syllables, surrogates.
    if (code === 0x3000) code = 0xa640;
    if (code === 0xac00) code = 0xfb00;
    const character = String.fromCodePoint(code);
    for (const other of [character.toLowerCase(), character.toUpperCase()]) {
      if (other === character || [...other].length !== 1) continue;
      if (areSame(character, other)) unite(groupOf, code, other.codePointAt(0) as number);
    }
  }
  known = { groups: new Set(groupOf.values()), groupOf };
  return known;
}

function areSame(a: string, b: string): boolean {
  return new RegExp(`^\\u{${a.codePointAt(0)?.toString(16)}}$`, "iu").test(b);
}

function unite(groupOf: Map<number, Set<number>>, a: number, b: number): void {
  const group = groupOf.get(a) ?? new Set([a]);
  for (const code of groupOf.get(b) ?? [b]) group.add(code);
  for (const code of group) groupOf.set(code, group);
}
