/**
 * Incremental equals full, for `CAPSTAN_INCREMENTAL_CASES` (300) random schemas, definitions and
 * changes from the seed `CAPSTAN_INCREMENTAL_SEED` on. A failing case is shrunk and printed. Run
 * 6,000 cases after a change of the planner.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlantedError } from "./refresh-sql.ts";
import { searchCases } from "./testing/search-cases.ts";

const casesMax = Number(process.env.CAPSTAN_INCREMENTAL_CASES ?? 300);
const name = process.env.CAPSTAN_INCREMENTAL_SEED ?? "incremental";

/** Longer than the limit of other tests, for a machine whose cores are busy. */
const slow = { timeout: 1_200_000 };

test("[TI1] after every refresh the stored rows are those of the definition", slow, async () => {
  const found = await searchCases({ name, from: 0, casesMax });
  assert.equal(found.failure, undefined, found.failure);
  assert.ok(found.counted >= casesMax);
  assert.ok(found.refused < found.counted / 5, `${found.refused} of them were refused`);
  for (const way of ["rows/keys", "keys/keys", "merge/merge", "merge/keys"]) {
    const share = (found.coverage.get(way) ?? 0) / found.counted;
    assert.ok(share > 0.01, `${way} in ${share * 100} % of the cases`);
  }
});

const planted: readonly PlantedError[] = [
  "nullKeys",
  "emptyGroup",
  "movedRow",
  "outerJoin",
  "distinct",
];
for (const error of planted) {
  test(`[TI2] the property finds a planted error: ${error}`, async () => {
    const found = await searchCases({ name, from: 0, casesMax: 1500, planted: error });
    // The error must show as wrong rows, not as SQL that fails.
    assert.match(found.failure ?? `not in ${found.counted} cases`, /^after refresh \d+: missing/m);
  });
}
