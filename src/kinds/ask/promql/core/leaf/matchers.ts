/** Compiles label matchers. A missing label is empty, so that `x=""` selects series without x. */

import { compileRegex } from "../compile-regex.ts";
import type { Labels } from "../labels.ts";
import { compareText } from "../labels.ts";
import type { Matcher } from "../leaf.ts";

/** Throws `PromqlError` for an invalid regular expression. */
export function compileMatcher({ op, value }: Matcher): (value: string) => boolean {
  switch (op) {
    case "=":
      return (candidate) => candidate === value;
    case "!=":
      return (candidate) => candidate !== value;
    case "=~": {
      const regex = compileRegex(value);
      return (candidate) => regex.test(candidate);
    }
    case "!~": {
      const regex = compileRegex(value);
      return (candidate) => !regex.test(candidate);
    }
  }
}

/** A series is selected when all matchers match. */
export function compileMatchers(matchers: readonly Matcher[]): (labels: Labels) => boolean {
  // The cheap ones first, so that regular expressions see fewer values.
  const ordered = [...matchers].sort((a, b) => cost(a) - cost(b));
  const compiled = ordered.map((matcher) => ({
    name: matcher.name,
    test: compileMatcher(matcher),
  }));
  return (labels) => {
    for (const { name, test } of compiled) {
      if (!test(labels.get(name))) return false;
    }
    return true;
  };
}

function cost({ op }: Matcher): number {
  return op === "=" ? 0 : op === "!=" ? 1 : 2;
}

/** Equal for equal sets of matchers, whatever their order and repetition. */
export function matcherSetKey(matchers: readonly Matcher[]): string {
  const keys = new Set(
    matchers.map(({ name, op, value }) => `${name.length}:${name}${op}${value.length}:${value}`),
  );
  return [...keys].sort(compareText).join("");
}
