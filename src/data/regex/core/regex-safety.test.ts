import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileRegex } from "./compile-regex.ts";

/** Patterns for which JavaScript's engine would take exponential time. */
const bombs = [
  ["(a+)+b", "a".repeat(20_000), false],
  ["(a|a)*b", "a".repeat(20_000), false],
  ["(.*)(.*)(.*)(.*)(.*)x", "a".repeat(20_000), false],
  ["(x+x+)+y", "x".repeat(20_000), false],
  ["(a?){200}a{200}", "a".repeat(200), true],
  ["(a|b)*a(a|b){15}", "ab".repeat(5_000), true],
  ["(?:(?:a?b?c?){10}){10}z", "abc".repeat(1_000), false],
  ["\\b(a+)+\\b!", "a".repeat(5_000), false],
] as const;
for (const [pattern, text, wanted] of bombs) {
  test(`[RX4] ${pattern} takes linear time`, () => {
    // A matcher that is not linear would not end.
    const regex = compileRegex(pattern);
    assert.equal(regex.test(text), wanted);
    assert.equal(regex.exec(text) !== undefined, wanted);
  });
}

test("[RX4] a pattern that keeps thousands of ways open is stopped", () => {
  const regex = compileRegex(`${"(?:[ab]?){1000}".repeat(20)}c`);
  const texts = Array.from({ length: 1_000 }, (_, index) => `${"ab".repeat(20)}${index}`);
  assert.throws(() => texts.some((text) => regex.exec(text)), /takes too long/);
});

test("[RX4] an automaton whose table is full goes on with an empty one", () => {
  // Two to the power of 13 states, times the classes of characters.
  const regex = compileRegex("(?:a|b|[c-z0-9]x)*a(?:a|b){12}");
  let state = 1;
  for (let round = 0; round < 300; round += 1) {
    let text = "";
    for (let index = 0; index < 60; index += 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      text += (state >>> 16) % 2 === 0 ? "a" : "b";
    }
    assert.equal(regex.test(text), text.at(-13) === "a");
  }
});

/** Syntax that both languages share, so that each engine can check the other. */
const atom = fc.constantFrom("a", "b", "c", ".", "[ab]", "[^a]", "\\d", "\\w", "é", "😀", "");
const pattern = fc.letrec<{ readonly tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc.tuple(tie("tree"), tie("tree")).map((parts) => parts.join("")),
    fc.tuple(tie("tree"), tie("tree")).map((parts) => `(?:${parts.join("|")})`),
    tie("tree").map((inner) => `(${inner})`),
    fc
      .tuple(tie("tree"), fc.constantFrom("*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{1,}"))
      .map(([inner, repeat]) => `(?:${inner})${repeat}`),
  ),
})).tree;
const text = fc
  .array(fc.constantFrom("a", "b", "c", "1", "é", "😀", "\n"), { maxLength: 6 })
  .map((parts) => parts.join(""));

test("[RX2] random patterns match what JavaScript's engine says", () => {
  fc.assert(
    fc.property(pattern, fc.array(text, { maxLength: 8 }), (source, texts) => {
      const ours = compileRegex(source);
      const theirs = new RegExp(`^(?:${source})$`, "su");
      for (const candidate of texts) {
        const wanted = theirs.test(candidate);
        assert.equal(ours.test(candidate), wanted);
        assert.equal(ours.exec(candidate) !== undefined, wanted);
      }
    }),
    { numRuns: 2000 },
  );
});

/** The engines also agree about groups, unless something empty is repeated. */
const plainPattern = fc.letrec<{ readonly tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom("a", "b", ".", "[ab]"),
    fc.tuple(tie("tree"), tie("tree")).map((parts) => parts.join("")),
    fc.tuple(tie("tree"), tie("tree")).map((parts) => `(${parts.join("|")})`),
    fc
      .tuple(fc.constantFrom("a", "b", ".", "[ab]"), fc.constantFrom("*", "+", "?", "*?", "+?"))
      .map(([inner, repeat]) => `(${inner}${repeat})`),
  ),
})).tree;

test("[RX3] groups are those that a backtracking engine finds first", () => {
  const candidates = fc
    .array(fc.constantFrom("a", "b", "c"), { maxLength: 6 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(plainPattern, candidates, (source, candidate) => {
      const theirs = new RegExp(`^(?:${source})$`, "su").exec(candidate);
      const wanted = theirs === null ? undefined : Array.from(theirs, (group) => group ?? "");
      assert.deepEqual(compileRegex(source).exec(candidate), wanted);
    }),
    { numRuns: 2000 },
  );
});

test("[RX2] what a simple shape decides, the machine decides alike", () => {
  const piece = fc.constantFrom("a", "ab", "b", ".*", ".+", "(?:.*)", "(.+)", "c");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), text, (pieces, candidate) => {
      const regex = compileRegex(pieces.join(""));
      assert.equal(regex.test(candidate), regex.exec(candidate) !== undefined);
    }),
    { numRuns: 2000 },
  );
});
