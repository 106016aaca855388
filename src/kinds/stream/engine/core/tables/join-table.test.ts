import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import { notNull, nullable, type Schema } from "../../../language/core/index.ts";
import { type Row, toBatch } from "../../testing/rows.ts";
import { viewOf } from "./column-view.ts";
import { createJoinLoops, JoinTable } from "./join-table.ts";

/** Many more left rows than have their heads read at once, and many more pairs than a batch. */
const leftRowCount = 5_000;
const rightRowCount = 900;

function randomRows(seed: string, count: number): readonly Row[] {
  const prng = createPrng(seed);
  return Array.from({ length: count }, () => {
    const key = prng.below(8) === 0 ? null : BigInt(prng.below(60));
    return [key, `t${prng.below(3)}`];
  });
}

for (const nullSafe of [false, true]) {
  test(`[SX49] a probe finds every pair of equal keys once${nullSafe ? ", NULL among them" : ""}`, () => {
    const schema: Schema = [
      { name: "k", type: nullable("INT64") },
      { name: "t", type: notNull("VARSIZED") },
    ];
    const keys = [0, 1].map((at) => ({ left: at, right: at, nullSafe }));
    const left = randomRows("left", leftRowCount);
    const right = randomRows("right", rightRowCount);
    const table = new JoinTable(createJoinLoops(keys, schema, schema));
    table.build(toBatch(schema, right).columns.map(viewOf), rightRowCount);
    const found: string[] = [];
    const batches: number[] = [];
    table.probe(toBatch(schema, left).columns.map(viewOf), leftRowCount, (lefts, rights) => {
      batches.push(lefts.length);
      for (const [at, row] of lefts.entries()) found.push(`${row} ${rights[at]}`);
    });
    const wanted = left.flatMap(([k, t], row) =>
      right.flatMap(([otherK, otherT], other) =>
        k === otherK && t === otherT && (nullSafe || k !== null) ? [`${row} ${other}`] : [],
      ),
    );
    assert.ok(batches.length > 2, `${batches.length} batches of pairs`);
    assert.deepEqual(found, wanted);
  });
}
