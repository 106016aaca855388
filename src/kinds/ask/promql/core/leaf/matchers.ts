/** Label matchers, compiled. A label that a series does not have is empty, so that `x=""` selects series without x. */
import type { Labels } from "../labels.ts";
import { compareText } from "../labels.ts";
import type { Matcher } from "../leaf.ts";
import { compileRegex } from "../regex/compile-regex.ts";

/** Whether a value of the matcher's label is selected. Throws PromqlError where the expression is not one. */
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

/** Whether a series is selected: all matchers have to. */
export function compileMatchers(matchers: readonly Matcher[]): (labels: Labels) => boolean {
  // The cheap ones first: a regular expression looks only at what they leave.
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

/** Equal for sets that select the same by being the same: order and repetition do not matter. */
export function matcherSetKey(matchers: readonly Matcher[]): string {
  const keys = new Set(
    matchers.map(({ name, op, value }) => `${name.length}:${name}${op}${value.length}:${value}`),
  );
  return [...keys].sort(compareText).join("");
}
