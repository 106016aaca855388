import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestWord } from "./nearest-word.ts";

const known = ["orders", "ORDER_ITEMS", "order_id", "name"];
const cases = [
  { word: "ordres", want: "orders" },
  { word: "ORDERZ", want: "orders" },
  { word: "order_itmes", want: "ORDER_ITEMS" },
  { word: "nam", want: "name" },
  { word: "na", want: undefined },
  { word: "customers", want: undefined },
];
for (const { word, want } of cases) {
  test(`the known word nearest to ${word}: ${want}`, () => {
    assert.equal(nearestWord(word, known), want);
  });
}

test("a caller may accept words that are farther away; the nearest of all is taken", () => {
  const isPart = (candidate: string): boolean => candidate.startsWith("dur");
  const fields = ["duration_seconds", "duration_ms", "seed"];
  assert.equal(nearestWord("dur", fields, isPart), "duration_ms");
  assert.equal(nearestWord("seeds", fields, isPart), "seed");
});
