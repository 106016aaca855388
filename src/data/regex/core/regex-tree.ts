/** A regular expression as a tree. Flags are resolved: a character of either case is a set. */
import type { CharRanges } from "./char-ranges.ts";

export type AssertKind =
  | "beginText"
  | "endText"
  | "beginLine"
  | "endLine"
  | "wordBoundary"
  | "noWordBoundary";

/** Counted while a tree is built, so that limits need no walk. */
interface Counts {
  /** The number of instructions of its program. */
  readonly size: number;
  /** How often its most repeated part is copied. */
  readonly copies: number;
  readonly height: number;
}

export type RegexTree = Counts &
  (
    | { readonly kind: "empty" }
    | { readonly kind: "set"; readonly ranges: CharRanges }
    | { readonly kind: "assert"; readonly what: AssertKind }
    | { readonly kind: "capture"; readonly index: number; readonly inner: RegexTree }
    | {
        readonly kind: "repeat";
        readonly inner: RegexTree;
        readonly min: number;
        /** `Infinity` when there is no limit. */
        readonly max: number;
        readonly greedy: boolean;
      }
    | { readonly kind: "concat"; readonly parts: readonly RegexTree[] }
    | { readonly kind: "alternate"; readonly options: readonly RegexTree[] }
  );

export interface ParsedRegex {
  readonly tree: RegexTree;
  /** By number; 0 is the whole match. Empty for a group without a name. */
  readonly groupNames: readonly string[];
}

export const emptyTree: RegexTree = { kind: "empty", size: 1, copies: 1, height: 1 };

export function setTree(ranges: CharRanges): RegexTree {
  return { kind: "set", ranges, size: 1, copies: 1, height: 1 };
}

export function assertTree(what: AssertKind): RegexTree {
  return { kind: "assert", what, size: 1, copies: 1, height: 1 };
}

export function captureTree(index: number, inner: RegexTree): RegexTree {
  const { size, copies, height } = inner;
  return { kind: "capture", index, inner, size: size + 2, copies, height: height + 1 };
}

export function repeatTree(inner: RegexTree, min: number, max: number, greedy: boolean): RegexTree {
  const count = max === Number.POSITIVE_INFINITY ? min : max;
  const size =
    max === Number.POSITIVE_INFINITY
      ? Math.max(min, 1) * inner.size + 2
      : max * inner.size + max - min;
  const copies = max === 0 ? 1 : Math.max(count, 1) * inner.copies;
  const height = inner.height + 1;
  return { kind: "repeat", inner, min, max, greedy, size: Math.max(size, 1), copies, height };
}

export function concatTree(parts: readonly RegexTree[]): RegexTree {
  if (parts.length === 0) return emptyTree;
  return parts.length === 1 ? (parts[0] as RegexTree) : { kind: "concat", parts, ...sum(parts, 0) };
}

export function alternateTree(options: readonly RegexTree[]): RegexTree {
  if (options.length === 1) return options[0] as RegexTree;
  return { kind: "alternate", options, ...sum(options, options.length - 1) };
}

function sum(trees: readonly RegexTree[], extraSize: number): Counts {
  let size = extraSize;
  let copies = 1;
  let height = 0;
  for (const tree of trees) {
    size += tree.size;
    copies = Math.max(copies, tree.copies);
    height = Math.max(height, tree.height);
  }
  return { size, copies, height: height + 1 };
}
