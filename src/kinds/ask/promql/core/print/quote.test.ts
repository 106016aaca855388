import assert from "node:assert/strict";
import { test } from "node:test";
import { describeCharacter, escapedByte, quoteCharacter, quoteStart, quoteText } from "./quote.ts";

const cases = [
  ["", '""'],
  ["plain 'text'", "\"plain 'text'\""],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["\u0007\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'],
  ["\u0000\u001f\u007f", '"\\x00\\x1f\\x7f"'],
  ["é€😀", '"é€😀"'],
  ["\u00a0\u200b\u{e0001}", '"\\u00a0\\u200b\\U000e0001"'],
  [`a${escapedByte(0xff)}`, '"a\\xff"'],
] as const;
for (const [text, quoted] of cases) {
  test(`[PQ15] text is quoted as ${quoted}`, () => {
    assert.equal(quoteText(text), quoted);
  });
}

test("[PQ11] characters in messages", () => {
  assert.equal(quoteCharacter("'"), "'\\''");
  assert.equal(quoteCharacter('"'), "'\"'");
  assert.equal(quoteCharacter(undefined), "'\ufffd'");
  assert.equal(describeCharacter("é"), "U+00E9 'é'");
  assert.equal(describeCharacter("\n"), "U+000A");
  assert.equal(quoteStart("😀".repeat(20), 3), '"😀😀😀"');
});
