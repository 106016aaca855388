import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatChanges, parseChanges } from "./change-text.ts";

test("[LK10] entries are in the reference's order, each once", () => {
  const text = formatChanges([
    { kind: "altered_table", id: 1 },
    { kind: "inserted_into_table", id: 1 },
    { kind: "altered_table", id: 1 },
    { kind: "created_table", name: ["main", 'a"b'] },
    { kind: "dropped_table", id: 3 },
  ]);
  assert.equal(
    text,
    'dropped_table:3,created_table:"main"."a""b",inserted_into_table:1,altered_table:1',
  );
});

test("[LK10] any names come back", () => {
  const name = fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 4, selector: JSON.stringify }), (names) => {
      const entries = names.map((pair) => ({ kind: "created_table", name: pair }) as const);
      assert.deepEqual(parseChanges(formatChanges(entries)), entries);
    }),
  );
});

test("[LK10] kinds in any case are read; what is not of the grammar is not", () => {
  assert.deepEqual(parseChanges("Inserted_Into_Table:4"), [{ kind: "inserted_into_table", id: 4 }]);
  assert.deepEqual(parseChanges(""), []);
  const wrong = [
    "nothing:1",
    "dropped_table",
    'dropped_table:"x"',
    "created_table:1",
    'created_table:"a',
    "dropped_table:1,",
  ];
  for (const text of wrong) assert.equal(parseChanges(text), undefined, text);
});
