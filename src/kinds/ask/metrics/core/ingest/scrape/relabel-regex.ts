/**
 * The regular expressions of relabelling: anchored at both ends, linear in time, with groups for
 * templates.
 */
import { compileRegex } from "../../../../promql/core/index.ts";

/** Returns the text of a group, by number or name; empty for an unknown group. */
export type RelabelMatch = (group: string) => string;

export interface RelabelRegex {
  /** The pattern as it was written. */
  readonly source: string;
  test(text: string): boolean;
  match(text: string): RelabelMatch | undefined;
}

export const defaultRegexSource = "(.*)";

/** Throws when the pattern is invalid. */
export function relabelRegex(source: string): RelabelRegex {
  if (source === defaultRegexSource) return everything;
  const matcher = compileRegex(source);
  return {
    source,
    test: (text) => matcher.test(text),
    match: (text) => {
      const groups = matcher.exec(text);
      if (groups === undefined) return undefined;
      return (group) => groups[groupIndex(group, matcher.groupNames)] ?? "";
    },
  };
}

/** The default and by far the most frequent pattern: the whole text is the first group. */
const everything: RelabelRegex = {
  source: defaultRegexSource,
  test: () => true,
  match: (text) => (group) => (group === "0" || group === "1" ? text : ""),
};

function groupIndex(group: string, names: readonly string[]): number {
  return /^\d+$/.test(group) ? Number(group) : names.indexOf(group);
}

/**
 * Replaces `$1`, `${1}`, `$name` and `${name}` by groups and `$$` by a dollar, like Go's `Expand`.
 * A name without braces extends over all letters, digits and underscores, so `$1x` is the group
 * `1x`, which does not exist.
 */
export function expandTemplate(template: string, match: RelabelMatch): string {
  if (!template.includes("$")) return template;
  return template.replaceAll(
    /\$(?:\$|\{([\p{L}\p{N}_]+)\}|([\p{L}\p{N}_]+))/gu,
    (whole, braced: string | undefined, bare: string | undefined) => {
      if (whole === "$$") return "$";
      return match(braced ?? bare ?? "");
    },
  );
}
