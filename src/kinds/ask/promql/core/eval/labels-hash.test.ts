import assert from "node:assert/strict";
import { test } from "node:test";
import { Labels } from "../labels.ts";
import { labelsOffset, xxHash64 } from "./labels-hash.ts";

// Values of the reference implementation with seed 0.
const hashes: readonly [text: string, want: bigint][] = [
  ["", 0xef46db3751d8e999n],
  ["a", 0xd24ec4f1a98c6e5bn],
  ["abc", 0x44bc2cf5ad770999n],
  ["Nobody inspects the spammish repetition", 0xfbcea83c8a378bf1n],
];
for (const [text, want] of hashes) {
  test(`[PE17] the hash of "${text}" is xxHash64's`, () => {
    assert.equal(xxHash64(new TextEncoder().encode(text)), want);
  });
}

test("[PE17] a series' place between 0 and 1 depends on its labels alone", () => {
  const offset = labelsOffset(Labels.of({ __name__: "m", long: "x".repeat(300) }));
  assert.ok(offset >= 0 && offset <= 1);
  assert.equal(offset, labelsOffset(Labels.of({ long: "x".repeat(300), __name__: "m" })));
});
