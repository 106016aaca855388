/** Labels as Prometheus prints them in messages: `{__name__="up", job="api"}`. */
export function labelsText(pairs: readonly string[]): string {
  const parts: string[] = [];
  for (let index = 0; index < pairs.length; index += 2) {
    const name = pairs[index] as string;
    const shown = isLegacyLabelName(name) ? name : quoted(name);
    parts.push(`${shown}=${quoted(pairs[index + 1] as string)}`);
  }
  return `{${parts.join(", ")}}`;
}

/** Whether the name needs no quotes in any Prometheus syntax. */
export function isLegacyLabelName(name: string): boolean {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name);
}

/** Like Go's `%q`, which equals JSON except for control characters. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/\\u00([0-9a-f]{2})/g, (_, hex: string) => {
    if (hex === "07") return "\\a";
    return hex === "0b" ? "\\v" : `\\x${hex}`;
  });
}
