/**
 * Decodes label names with any characters in an address. Prometheus's clients write `http.status`
 * as `U__http_2e_status`: after `U__`, an underscore is doubled, and any other character outside
 * the old alphabet is its code point between underscores.
 */
export function unescapeName(name: string): string {
  if (!name.startsWith("U__")) return name;
  const escaped = name.slice(3);
  let plain = "";
  for (let index = 0; index < escaped.length; ) {
    const at = escaped[index] as string;
    if (at !== "_") {
      plain += at;
      index += 1;
    } else if (escaped[index + 1] === "_") {
      plain += "_";
      index += 2;
    } else {
      const end = escaped.indexOf("_", index + 1);
      const digits = end < 0 ? "" : escaped.slice(index + 1, end);
      if (!/^[0-9a-f]{1,6}$/i.test(digits)) return name; // Not an escaped name after all.
      const codePoint = Number.parseInt(digits, 16);
      if (codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff)) return name;
      plain += String.fromCodePoint(codePoint);
      index = end + 1;
    }
  }
  return plain;
}
