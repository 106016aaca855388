import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareLabels, Labels } from "./labels.ts";

/** Characters that are hard to order: separators, escapes, the edges of the surrogates. */
const odd = ["\0", "\x01", "\x02", "a", "b", "é", "\ud7ff", "\ue000", "\uffff", "🦊", "\ud800"];
const text = fc.string({ unit: fc.constantFrom(...odd), minLength: 1, maxLength: 3 });
const labels = fc.dictionary(text, text, { maxKeys: 3 }).map((record) => Labels.of(record));

/** The first text that differs decides, by its bytes; then the number of labels. */
function compareNaively(a: Labels, b: Labels): number {
  for (const [index, left] of a.pairs.entries()) {
    const right = b.pairs[index];
    if (right === undefined) return 1;
    const order = compareUnits(left, right);
    if (order !== 0) return order;
  }
  return a.pairs.length - b.pairs.length;
}

/** Lone surrogates have no UTF-8: they count as code points, like in WTF-8. */
function compareUnits(a: string, b: string): number {
  const [left, right] = [pointsOf(a), pointsOf(b)];
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    if (left[index] !== right[index]) return (left[index] as number) - (right[index] as number);
  }
  return left.length - right.length;
}

/** Surrogates stand above every other unit, alone or in pairs. */
function pointsOf(value: string): number[] {
  return Array.from({ length: value.length }, (_, index) => {
    const unit = value.charCodeAt(index);
    return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
  });
}

test("[KL22] labels are ordered pair by pair, whatever characters they have", () => {
  fc.assert(
    fc.property(labels, labels, (a, b) => {
      assert.equal(Math.sign(compareLabels(a, b)), Math.sign(compareNaively(a, b)));
      assert.equal(Math.sign(compareLabels(b, a)), -Math.sign(compareLabels(a, b)) + 0);
    }),
    { numRuns: 2_000 },
  );
});

test("[KL22] keys are equal exactly for equal labels", () => {
  fc.assert(
    fc.property(labels, labels, (a, b) => {
      const isEqual = JSON.stringify(a.pairs) === JSON.stringify(b.pairs);
      assert.equal(a.key === b.key, isEqual);
      assert.equal(compareLabels(a, b) === 0, isEqual);
      assert.equal(new Labels([...a.pairs]).key, a.key);
    }),
    { numRuns: 2_000 },
  );
});

test("[KL22] a separator within a value is no separator", () => {
  const [one, two] = [Labels.of({ a: "b\0c\0d" }), Labels.of({ a: "b", c: "d" })];
  assert.notEqual(one.key, two.key);
  assert.notEqual(Labels.of({ a: "\x01\x01" }).key, Labels.of({ a: "\0" }).key);
});
