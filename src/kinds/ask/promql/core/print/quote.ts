/** Quotes text and characters like Prometheus's messages and printed queries. */

/** Letters, marks, numbers, punctuation, symbols, and only the ASCII space. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
/** Text that needs no escape in double quotes, so that most text is copied at once. */
const plain = /^[ !#-[\]-~]*$/;

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
]);

export function quoteText(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  let quoted = "";
  for (const character of text) quoted += escaped(character, '"');
  return `"${quoted}"`;
}

/** Quotes at most `countMax` characters of the text. */
export function quoteStart(text: string, countMax: number): string {
  return quoteText([...text.slice(0, 2 * countMax)].slice(0, countMax).join(""));
}

const escapedByteStart = 0xdc00;

/** Represents a byte from 0x80 on that is part of no character; printed as `\xff`. */
export function escapedByte(byte: number): string {
  return String.fromCharCode(escapedByteStart + byte);
}

/** Undefined is the end of the input. */
export function quoteCharacter(character: string | undefined): string {
  return `'${escaped(character ?? "\ufffd", "'")}'`;
}

/** `U+0041 'A'`, or only the number for an unprintable character. */
export function describeCharacter(character: string): string {
  const number = `U+${hex(codePoint(character), 4).toUpperCase()}`;
  return printable.test(character) ? `${number} '${character}'` : number;
}

function escaped(character: string, quote: string): string {
  if (character === quote) return `\\${quote}`;
  const short = shortEscapes.get(character);
  if (short !== undefined) return short;
  if (printable.test(character)) return character;
  const byte = (character.codePointAt(0) ?? 0) - escapedByteStart;
  if (byte >= 0x80 && byte <= 0xff) return `\\x${hex(byte, 2)}`;
  const code = codePoint(character);
  if (code === 0xfffd) return "\ufffd";
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function codePoint(character: string): number {
  const code = character.codePointAt(0) ?? 0xfffd;
  return code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, "0");
}
