import assert from "node:assert/strict";
import { test } from "node:test";
import { decideSplit } from "./decide-split.ts";

const limits = { rowsMin: 5_000_000, partsMax: 16 };
const keys = { kind: "buckets", columns: ["k"] } as const;

const cases = [
  { name: "small sources: whole", totalRows: 4_999_999, parts: undefined },
  { name: "two parts at least", totalRows: 5e6, parts: 2 },
  { name: "a part for each five million rows, whoever is there", totalRows: 44e6, parts: 8 },
  { name: "never more than the limit", totalRows: 1e9, parts: 16 },
];
for (const { name, totalRows, parts } of cases) {
  test(`[TP10] ${name}`, () => {
    const decision = decideSplit(keys, totalRows, limits);
    assert.equal(decision.kind === "split" ? decision.parts : undefined, parts);
  });
}
