/** Expands replacement texts with Go's references to groups: `$1`, `$name`, `${name}`, `$$`. */

export type TemplatePart = { readonly text: string } | { readonly group: number | string };

const reference = /^(?:\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/u;

/** A `$` without a reference is literal. */
export function parseTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let rest = template;
  for (;;) {
    const at = rest.indexOf("$");
    if (at === -1) break;
    if (at > 0) parts.push({ text: rest.slice(0, at) });
    rest = rest.slice(at + 1);
    if (rest.startsWith("$")) {
      parts.push({ text: "$" });
      rest = rest.slice(1);
      continue;
    }
    const match = reference.exec(rest);
    if (match === null) {
      parts.push({ text: "$" });
      continue;
    }
    parts.push({ group: groupOf(match[1] ?? match[2] ?? "") });
    rest = rest.slice(match[0].length);
  }
  if (rest !== "") parts.push({ text: rest });
  return parts;
}

/** Digits without a leading zero are a number. */
function groupOf(name: string): number | string {
  return /^(?:0|[1-9][0-9]{0,8})$/.test(name) ? Number(name) : name;
}

/** `groups` and their names by number, the whole match first. Unknown groups are empty. */
export function expandTemplate(
  parts: readonly TemplatePart[],
  groups: readonly string[],
  groupNames: readonly string[],
  checkLength: (length: number) => void = () => undefined,
): string {
  let text = "";
  for (const part of parts) {
    checkLength(text.length);
    if ("text" in part) {
      text += part.text;
      continue;
    }
    const at = typeof part.group === "number" ? part.group : groupNames.indexOf(part.group);
    text += groups[at] ?? "";
  }
  checkLength(text.length);
  return text;
}
