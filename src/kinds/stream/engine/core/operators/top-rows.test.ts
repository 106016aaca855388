import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import { allRows, viewOf } from "../tables/column-view.ts";
import { type Ranking, TopRows } from "./top-rows.ts";

interface Row {
  readonly key: number;
  readonly value: number;
  readonly arrival: number;
}

const integer = { name: "INT32", nullable: false } as const;

/** The first rows by the greatest value; of equal ones those that arrived first. */
function naiveTop(rows: readonly Row[], limit: number): Row[] {
  const groups = Map.groupBy(rows, ({ key }) => key);
  return [...groups.values()]
    .flatMap((group) =>
      group.toSorted((a, b) => b.value - a.value || a.arrival - b.arrival).slice(0, limit),
    )
    .toSorted((a, b) => a.arrival - b.arrival);
}

for (const limit of [1, 2, 7, 1_000_000]) {
  test(`[SX56] many more rows than the first ${limit} of each partition`, () => {
    const prng = createPrng(`top ${limit}`);
    const ranking: Ranking = {
      types: [integer, integer, integer],
      partition: [0],
      order: [{ column: 1, descending: true }],
      limit,
    };
    const top = new TopRows(ranking);
    const all: Row[] = [];
    for (let batch = 0; batch < 40; batch += 1) {
      // More and more keys; with few values there are many equal rows.
      const rows = Array.from({ length: 1_000 }, (_, i) => ({
        key: prng.below(10 + batch * 20),
        value: prng.below(50),
        arrival: batch * 1_000 + i,
      }));
      all.push(...rows);
      const column = (of: (row: Row) => number) =>
        viewOf({
          kind: "fixed",
          type: "INT32",
          values: Int32Array.from(rows, of),
          validity: undefined,
        });
      const views = [
        column(({ key }) => key),
        column(({ value }) => value),
        column(({ arrival }) => arrival),
      ];
      top.add(views, allRows(rows.length));
      if (limit === 1) assert.ok(top.rows.rowCount <= 2 * 800 + 4_096 + 1_000);
    }
    const { rowCount, views } = top.finish();
    const found = Array.from({ length: rowCount }, (_, row) => ({
      key: views[0]?.data[row],
      value: views[1]?.data[row],
      arrival: views[2]?.data[row],
    }));
    assert.deepEqual(found, naiveTop(all, limit));
  });
}
