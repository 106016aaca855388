/**
 * Translates a pattern to JavaScript (flag `u`, whole text), for places that cannot run ours, such
 * as a browser. Not for untrusted patterns: JavaScript's engine takes exponential time for some.
 */
import type { CharRanges } from "./char-ranges.ts";
import { parseRegex, RegexSyntaxError } from "./parse-regex.ts";
import type { AssertKind, RegexTree } from "./regex-tree.ts";

/** Undefined for an invalid pattern. Groups keep their numbers and lose their names. */
export function translateRegex(pattern: string): string | undefined {
  try {
    return `^(?:${translate(parseRegex(pattern).tree)})$`;
  } catch (error) {
    if (error instanceof RegexSyntaxError) return undefined;
    throw error;
  }
}

const assertions: Readonly<Record<AssertKind, string>> = {
  beginText: "(?<![^])",
  endText: "(?![^])",
  beginLine: "(?<![^\\n])",
  endLine: "(?![^\\n])",
  wordBoundary: "\\b",
  noWordBoundary: "\\B",
};

function translate(tree: RegexTree): string {
  switch (tree.kind) {
    case "empty":
      return "(?:)";
    case "set":
      return translateSet(tree.ranges);
    case "assert":
      // A repeated assertion needs a group around it.
      return `(?:${assertions[tree.what]})`;
    case "capture":
      return `(${translate(tree.inner)})`;
    case "repeat": {
      const { inner, min, max, greedy } = tree;
      const most = max === Number.POSITIVE_INFINITY ? "" : max;
      return `(?:${translate(inner)}){${min},${most}}${greedy ? "" : "?"}`;
    }
    case "concat":
      return tree.parts.map(translate).join("");
    case "alternate":
      return `(?:${tree.options.map(translate).join("|")})`;
  }
}

function translateSet(ranges: CharRanges): string {
  let set = "";
  for (let index = 0; index < ranges.length; index += 2) {
    const first = ranges[index] as number;
    const last = ranges[index + 1] as number;
    set += first === last ? unit(first) : `${unit(first)}-${unit(last)}`;
  }
  return `[${set}]`;
}

function unit(code: number): string {
  return `\\u{${code.toString(16)}}`;
}
