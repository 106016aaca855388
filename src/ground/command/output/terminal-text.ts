/** Measures text as a terminal shows it, and makes any text safe to print. */

/**
 * Shows control characters as escapes, so that a cell neither moves the cursor nor changes colours.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    if (char === "\r") return "\\r";
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

const segmenter = new Intl.Segmenter();
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const plain = /^[\u0020-\u007e]*$/;

/**
 * The width in terminal columns: two for East Asian characters and emoji, none for combining marks.
 */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    if (/^\p{Mark}/u.test(segment)) continue;
    width += wide.test(segment) ? 2 : 1;
  }
  return width;
}

/** Cuts to `widthMax` columns, of which the last is an ellipsis. */
export function truncate(text: string, widthMax: number): string {
  if (displayWidth(text) <= widthMax) return text;
  let cut = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += displayWidth(segment);
    if (width > widthMax - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

export function pad(text: string, width: number, side: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, width - displayWidth(text)));
  return side === "left" ? `${text}${space}` : `${space}${text}`;
}
