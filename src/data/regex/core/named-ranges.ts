/** Named sets of characters: `\d`, `[:alpha:]`, `\p{Greek}`. */
import {
  anyCharacter,
  type CharRanges,
  negateRanges,
  normalizeRanges,
  uniteRanges,
} from "./char-ranges.ts";

const perl: ReadonlyMap<string, CharRanges> = new Map([
  ["d", ascii("09")],
  ["s", [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20]],
  ["w", ascii("09AZ__az")],
]);

const posix: ReadonlyMap<string, CharRanges> = new Map([
  ["alnum", ascii("09AZaz")],
  ["alpha", ascii("AZaz")],
  ["ascii", [0x00, 0x7f]],
  ["blank", ascii("\t\t  ")],
  ["cntrl", [0x00, 0x1f, 0x7f, 0x7f]],
  ["digit", ascii("09")],
  ["graph", ascii("!~")],
  ["lower", ascii("az")],
  ["print", ascii(" ~")],
  ["punct", ascii("!/:@[`{~")],
  ["space", ascii("\t\r  ")],
  ["upper", ascii("AZ")],
  ["word", ascii("09AZ__az")],
  ["xdigit", ascii("09AFaf")],
]);

function ascii(bounds: string): CharRanges {
  return [...bounds].map((character) => character.charCodeAt(0));
}

/** `letter` follows the backslash; a capital negates. Undefined for other letters. */
export function perlRanges(
  letter: string,
  fold: (ranges: CharRanges) => CharRanges,
): CharRanges | undefined {
  const ranges = perl.get(letter.toLowerCase());
  if (ranges === undefined) return undefined;
  return letter === letter.toLowerCase() ? fold(ranges) : negateRanges(fold(ranges));
}

/** The set of the name between `[:` and `:]`; `^` negates. */
export function posixRanges(
  name: string,
  fold: (ranges: CharRanges) => CharRanges,
): CharRanges | undefined {
  const isNegated = name.startsWith("^");
  const ranges = posix.get(isNegated ? name.slice(1) : name);
  if (ranges === undefined) return undefined;
  return isNegated ? negateRanges(fold(ranges)) : fold(ranges);
}

const categories: ReadonlySet<string> = new Set(
  (
    "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps " +
    "S Sc Sk Sm So Z Zl Zp Zs"
  ).split(" "),
);
const surrogates: CharRanges = [0xd800, 0xdfff];

const unicodeCache = new Map<string, CharRanges | undefined>();

/** A general category, or a script by its long name. Undefined for an unknown name. */
export function unicodeRanges(name: string): CharRanges | undefined {
  if (name === "Any") return anyCharacter;
  if (name === "Cs") return surrogates;
  if (unicodeCache.has(name)) return unicodeCache.get(name);
  const ranges = computeUnicodeRanges(name);
  // Names come from queries, so only existing ones are cached.
  if (ranges !== undefined) unicodeCache.set(name, ranges);
  return ranges;
}

function computeUnicodeRanges(name: string): CharRanges | undefined {
  // Unassigned characters are in no category here, though Unicode puts them into C.
  if (name === "C") {
    const parts = ["Cc", "Cf", "Co"].map((part) => unicodeRanges(part) ?? []);
    return uniteRanges([surrogates, ...parts]);
  }
  if (categories.has(name)) return scan(new RegExp(`\\p{gc=${name}}+`, "gu"));
  if (!/^[A-Z][A-Za-z_]*[a-z]$/.test(name)) return undefined;
  try {
    return scan(new RegExp(`\\p{sc=${name}}+`, "gu"));
  } catch {
    return undefined;
  }
}

/** Finds runs of matching characters among all characters. */
function scan(runs: RegExp): CharRanges {
  const pairs: [number, number][] = [];
  for (const [first, last] of assigned) {
    for (let start = first; start <= last; start += chunkLength) {
      const codes = Array.from(
        { length: Math.min(chunkLength, last - start + 1) },
        (_, offset) => start + offset,
      );
      const text = String.fromCodePoint(...codes);
      const unitCount = start > 0xffff ? 2 : 1;
      for (const { 0: run, index } of text.matchAll(runs)) {
        const from = start + index / unitCount;
        pairs.push([from, from + run.length / unitCount - 1]);
      }
    }
  }
  return normalizeRanges(pairs);
}

const chunkLength = 0x1000;
/** The assigned code points, without surrogates and empty planes. */
const assigned: readonly (readonly [number, number])[] = [
  [0x0000, 0xd7ff],
  [0xe000, 0xffff],
  [0x10000, 0x3ffff],
  [0xe0000, 0x10ffff],
];
