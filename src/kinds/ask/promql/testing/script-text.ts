/** Parses a number like Go; undefined when the text is not a number. */
export function parseScriptNumber(text: string): number | undefined {
  const found = /^([+-]?)(.+)$/.exec(text);
  if (found === null) return undefined;
  const sign = found[1] === "-" ? -1 : 1;
  const digits = (found[2] as string).toLowerCase();
  if (digits === "inf" || digits === "infinity") return sign * Number.POSITIVE_INFINITY;
  if (digits === "nan") return Number.NaN;
  if (/^0(x[\da-f]+|b[01]+|o[0-7]+)$/.test(digits)) return sign * Number(digits);
  if (/^0[0-7]+$/.test(digits)) return sign * Number.parseInt(digits, 8);
  return /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(digits) ? sign * Number(digits) : undefined;
}

/** Unquotes a text like Go; undefined when it is not quoted text. */
export function unquote(text: string): string | undefined {
  const quote = text[0];
  if (text.length < 2 || text.at(-1) !== quote) return undefined;
  const inner = text.slice(1, -1);
  if (quote === "`") return inner;
  if (quote !== '"' && quote !== "'") return undefined;
  return inner.replace(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|.)/g, (_, code: string) => {
    if (/^[xu]./.test(code)) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    const known: Readonly<Record<string, string>> = {
      a: "\x07",
      b: "\b",
      f: "\f",
      n: "\n",
      r: "\r",
      t: "\t",
      v: "\v",
    };
    return known[code] ?? code;
  });
}
