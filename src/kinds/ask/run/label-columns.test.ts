import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { Labels } from "../promql/core/index.ts";
import { ReadLabels, WrittenLabels } from "./label-columns.ts";

const series = (count: number, name = "x"): Labels[] =>
  Array.from({ length: count }, (_, index) => Labels.of({ __name__: name, i: String(index) }));

test("[QP38] the same labels in the same order are encoded once", () => {
  const written = new WrittenLabels();
  const labels = series(3);
  const first = written.column(labels);
  assert.equal(written.column([...labels]), first);
  const other = written.column([labels[0], labels[0], labels[2]] as Labels[]);
  assert.notEqual(other, first);
  const renewed = written.column(series(3));
  assert.notEqual(renewed, first, "other objects are encoded anew");
  assert.deepEqual(renewed.pieces, first.pieces, "to the same bytes");
  assert.equal(written.column([]).length, 0);
});

test("[QP38] equal bytes of a column are decoded once, and to the same labels", () => {
  const read = new ReadLabels();
  let decoded = 0;
  const texts = (items: readonly string[]) => () => {
    decoded += 1;
    return items;
  };
  const chunk = Uint8Array.of(1, 2, 3);
  const first = read.column(chunk, texts(['["a","1"]', '["a","2"]']));
  chunk.fill(0); // The artifact's memory may be used again.
  const again = read.column(Uint8Array.of(1, 2, 3), texts([]));
  assert.equal(again, first);
  assert.equal(decoded, 1);
  assert.deepEqual(
    again.map(({ pairs }) => pairs),
    [
      ["a", "1"],
      ["a", "2"],
    ],
  );
  const [known] = read.column(Uint8Array.of(1, 2, 4), texts(['["a","1"]']));
  assert.equal(known, first[0], "labels stay the same objects");
  assert.equal(decoded, 2);
});

test("[QP38] what is kept is bounded: the column that was used the longest ago goes first", () => {
  const written = new WrittenLabels({ rowsMax: 10, bytesMax: 1_000_000 });
  const [a, b, c, large] = [series(4, "a"), series(4, "b"), series(4, "c"), series(6, "large")];
  const [first, second] = [written.column(a), written.column(b)];
  const unkept = written.column(large);
  assert.notEqual(written.column(large), unkept, "more than half is not kept");
  assert.equal(written.column(a), first);
  written.column(c);
  assert.equal(written.column(a), first);
  assert.notEqual(written.column(b), second);
  const narrow = new WrittenLabels({ rowsMax: 1_000, bytesMax: 10 });
  assert.notEqual(narrow.column(a), narrow.column(a));
});

test("[QP38] columns with the same checksum are told apart by their bytes", () => {
  const read = new ReadLabels();
  const [one, two] = [
    Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
    Uint8Array.of(9, 9, 9, 9, 60, 85, 184, 69),
  ];
  assert.equal(crc32(one), crc32(two));
  read.column(one, () => ['["a","1"]']);
  const [other] = read.column(two, () => ['["a","2"]']);
  assert.deepEqual(other?.pairs, ["a", "2"]);
});
