/**
 * Fast tests for simple patterns, which most are: a few literal texts, or literal texts with gaps
 * between.
 */
import { type CharRanges, codePointMax } from "./char-ranges.ts";
import type { RegexTree } from "./regex-tree.ts";

/** Limits of characters that a set, and of texts that a product, is expanded to. */
const charactersMax = 16;
const productMax = 256;

/** Every text that the pattern matches, if they are few or written out one by one. */
export function literalTexts(tree: RegexTree): string[] | undefined {
  const plain = withoutAnchors(tree);
  const texts = plain === undefined ? undefined : textsOf(plain);
  return texts === undefined ? undefined : [...new Set(texts)];
}

function textsOf(tree: RegexTree): string[] | undefined {
  switch (tree.kind) {
    case "empty":
      return [""];
    case "set":
      return characters(tree.ranges);
    case "capture":
      return textsOf(tree.inner);
    case "alternate": {
      const texts: string[] = [];
      for (const option of tree.options) {
        const more = textsOf(option);
        if (more === undefined) return undefined;
        for (const text of more) texts.push(text);
      }
      return texts;
    }
    case "concat":
      return productOf(tree.parts);
    case "assert":
    case "repeat":
      return undefined;
  }
}

function productOf(parts: readonly RegexTree[]): string[] | undefined {
  let texts = [""];
  for (const part of parts) {
    const more = textsOf(part);
    if (more === undefined) return undefined;
    const count = texts.length * more.length;
    if (count > productMax && texts.length > 1 && more.length > 1) return undefined;
    texts = texts.flatMap((text) => more.map((tail) => text + tail));
  }
  return texts;
}

function characters(ranges: CharRanges): string[] | undefined {
  const texts: string[] = [];
  for (let index = 0; index < ranges.length; index += 2) {
    const first = ranges[index] as number;
    const last = ranges[index + 1] as number;
    if (texts.length + last - first >= charactersMax) return undefined;
    for (let code = first; code <= last; code += 1) {
      // A lone surrogate is no character of a text.
      if (code >= 0xd800 && code <= 0xdfff) return undefined;
      texts.push(String.fromCodePoint(code));
    }
  }
  return texts;
}

/** Literal texts with gaps: at least `gaps[i]` characters (0 or 1) precede `pieces[i]`. */
interface Glob {
  readonly pieces: readonly string[];
  readonly gaps: readonly number[];
}

/** A test for patterns like `abc.*`, `.*abc`, `.*abc.*`, `a.+b.*`; undefined for others. */
export function globTest(tree: RegexTree): ((text: string) => boolean) | undefined {
  const plain = withoutAnchors(tree);
  const glob = plain === undefined ? undefined : globOf(plain);
  if (glob === undefined) return undefined;
  const { pieces, gaps } = glob;
  const first = pieces[0] ?? "";
  const last = pieces.at(-1) ?? "";
  const lastGap = gaps.at(-1) ?? 0;
  const middle = pieces.length - 1;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let end = first.length;
    for (let index = 1; index < middle; index += 1) {
      const piece = pieces[index] as string;
      const found = text.indexOf(piece, end + (gaps[index] as number));
      if (found < 0) return false;
      end = found + piece.length;
    }
    return text.length - last.length >= end + lastGap && text.endsWith(last);
  };
}

/** Begins and ends with a piece, which may be empty, and has at least one gap. */
function globOf(tree: RegexTree): Glob | undefined {
  const pieces = [""];
  const gaps = [0];
  for (const part of tree.kind === "concat" ? tree.parts : [tree]) {
    const inner = uncaptured(part);
    const gap = gapOf(inner);
    const last = pieces.length - 1;
    if (gap !== undefined) {
      // Two gaps in a row become one, unless that needs more than one character.
      if (pieces[last] === "" && last > 0) {
        if (gap + (gaps[last] as number) > 1) return undefined;
        gaps[last] = gap + (gaps[last] as number);
      } else {
        pieces.push("");
        gaps.push(gap);
      }
      continue;
    }
    const texts = textsOf(inner);
    if (texts?.length !== 1) return undefined;
    pieces[last] += texts[0] as string;
  }
  return pieces.length > 1 ? { pieces, gaps } : undefined;
}

/** The minimum number of characters: 0 for `.*` and 1 for `.+`. */
function gapOf(tree: RegexTree): number | undefined {
  if (tree.kind !== "repeat" || tree.max !== Number.POSITIVE_INFINITY || tree.min > 1) {
    return undefined;
  }
  const inner = uncaptured(tree.inner);
  if (inner.kind !== "set" || inner.ranges.length !== 2) return undefined;
  return inner.ranges[0] === 0 && inner.ranges[1] === codePointMax ? tree.min : undefined;
}

function uncaptured(tree: RegexTree): RegexTree {
  return tree.kind === "capture" ? uncaptured(tree.inner) : tree;
}

/** Removes a redundant `^` in front and `$` at the end. Undefined when nothing is left. */
function withoutAnchors(tree: RegexTree): RegexTree | undefined {
  if (tree.kind !== "concat") return tree.kind === "assert" ? undefined : uncaptured(tree);
  let start = 0;
  let end = tree.parts.length;
  while (start < end && isAssert(tree.parts[start], "beginText")) start += 1;
  while (end > start && isAssert(tree.parts[end - 1], "endText")) end -= 1;
  const parts = tree.parts.slice(start, end);
  if (parts.length === 0) return undefined;
  return parts.length === 1 ? uncaptured(parts[0] as RegexTree) : { ...tree, parts };
}

function isAssert(tree: RegexTree | undefined, what: "beginText" | "endText"): boolean {
  return tree?.kind === "assert" && tree.what === what;
}
