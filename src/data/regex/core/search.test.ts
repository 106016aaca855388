import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileSearch } from "./compile-search.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The groups of the first match in the text, which lies between other bytes. */
function search(pattern: string, text: string, from = 0): (string | undefined)[] | undefined {
  const bytes = encoder.encode(`ab${text}ab`);
  const [start, end] = [2, bytes.length - 2];
  const searcher = compileSearch(pattern);
  const bounds = new Int32Array(2 * searcher.groupCount);
  const found = searcher.find(bytes, start, end, start + from, bounds);
  if (from === 0) assert.equal(searcher.test(bytes, start, end), found);
  if (!found) return undefined;
  return Array.from({ length: searcher.groupCount }, (_, group) => {
    const [first, last] = bounds.subarray(2 * group) as unknown as [number, number];
    return first < 0 ? undefined : decoder.decode(bytes.subarray(first, last));
  });
}

const cases: readonly (readonly [string, string, readonly (string | undefined)[] | undefined])[] = [
  ["b+", "abbbc", ["bbb"]],
  ["b+?", "abbbc", ["b"]],
  ["a|ab", "ab", ["a"]],
  ["(\\d+)-(\\d+)", "from 12-34 to 5-6", ["12-34", "12", "34"]],
  ["(x)|(y)", "y", ["y", undefined, "y"]],
  ["^ab", "ab", ["ab"]],
  ["^b", "ab", undefined],
  ["b$", "ab", ["b"]],
  ["a$", "ab", undefined],
  ["^$", "", [""]],
  ["^$", "a", undefined],
  ["\\bcat\\b", "a cat.", ["cat"]],
  ["\\bcat\\b", "concat", undefined],
  ["(?m)^b$", "a\nb\nc", ["b"]],
  ["(?i)straße", "DIE STRASSE, die STRAßE", ["STRAßE"]],
  [".", "😀", ["😀"]],
  ["é.", "caféé", ["éé"]],
  ["", "abc", [""]],
  ["x*", "abc", [""]],
  ["$", "abc", [""]],
];
for (const [pattern, text, wanted] of cases) {
  test(`[RX7] ${JSON.stringify(pattern)} in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(search(pattern, text), wanted);
  });
}

test("[RX7] a search goes on behind a place, which is not the beginning of the text", () => {
  assert.deepEqual(search("a.", "abac", 1), ["ac"]);
  assert.equal(search("^a", "aa", 1), undefined);
  assert.equal(search("\\ba", "aa", 1), undefined);
});

const pattern = fc.letrec<{ readonly tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "é", "😀", "\\d", "^", "$", "\\b", ""),
    fc.tuple(tie("tree"), tie("tree")).map((parts) => parts.join("")),
    fc.tuple(tie("tree"), tie("tree")).map((parts) => `(?:${parts.join("|")})`),
    fc
      .tuple(
        fc.constantFrom("a", "b", ".", "[ab]", "(?:ab)", "(?:a|bé)"),
        fc.constantFrom("*", "+", "?", "*?", "+?", "{2}"),
      )
      .map((parts) => parts.join("")),
  ),
})).tree;
const text = fc
  .array(fc.constantFrom("a", "b", "c", "1", "é", "😀", "\n"), { maxLength: 8 })
  .map((parts) => parts.join(""));

test("[RX7] random patterns are found where JavaScript's engine finds them", () => {
  fc.assert(
    fc.property(pattern, fc.array(text, { maxLength: 6 }), (source, texts) => {
      const searcher = compileSearch(source);
      const bounds = new Int32Array(2 * searcher.groupCount);
      for (const candidate of texts) {
        const theirs = new RegExp(source, "su").exec(candidate);
        const bytes = encoder.encode(candidate);
        const found = searcher.find(bytes, 0, bytes.length, 0, bounds);
        assert.equal(found, theirs !== null);
        assert.equal(searcher.test(bytes, 0, bytes.length), found);
        if (theirs === null) continue;
        const start = encoder.encode(candidate.slice(0, theirs.index)).length;
        assert.deepEqual(
          [...bounds.subarray(0, 2)],
          [start, start + encoder.encode(theirs[0]).length],
        );
      }
    }),
    { numRuns: 1500 },
  );
});

test("[RX7] bytes that are no UTF-8 are one character each, and end every search", () => {
  const searcher = compileSearch("^(.)(.)$");
  const bounds = new Int32Array(6);
  for (const bytes of [
    [0xff, 0x41],
    [0xc3, 0x41],
    [0xe2, 0x82, 0x41].slice(1),
    [0xed, 0xa0].slice(0, 2),
  ]) {
    assert.ok(searcher.find(Uint8Array.from(bytes), 0, 2, 0, bounds));
    assert.deepEqual([...bounds], [0, 2, 0, 1, 1, 2]);
  }
});

test("[RX4] searches take linear time, too", () => {
  for (const [source, body] of [
    ["(a+)+b", "a"],
    ["(x+x+)+y", "x"],
    ["\\b(a+)+\\b!", "a"],
  ] as const) {
    const bytes = encoder.encode(body.repeat(20_000));
    assert.equal(compileSearch(source).test(bytes, 0, bytes.length), false);
  }
});
