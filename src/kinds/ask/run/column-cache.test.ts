import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryColumnCache } from "./column-cache.ts";

const column = (): Float64Array => new Float64Array(10);

test("[QP13] the least recently used goes first", () => {
  const cache = new MemoryColumnCache(300);
  for (const key of ["a", "b", "c"]) cache.keep(key, key, 100);
  cache.find("a");
  cache.keep("d", "d", 100);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => cache.find(key)),
    ["a", undefined, "c", "d"],
  );
});

test("[QP13] of what was demoted an eighth of the room is kept, the newest of it", () => {
  const cache = new MemoryColumnCache(1_000);
  const [, columns] = cache.noteColumns(() => {
    for (const name of ["a", "b", "c"]) cache.get("s", 0, name, column);
  });
  cache.keep("selection", "of them", 240);
  cache.demote(columns);
  assert.equal(cache.bytes, 240 + 80);
  assert.equal(cache.find("s/0/b"), undefined);
  assert.notEqual(cache.find("s/0/c"), undefined);
});

test("[QP13] what was demoted goes before what is older, and is kept when it is asked for again", () => {
  const cache = new MemoryColumnCache(1_400);
  cache.keep("old", "old", 1_140);
  const [, columns] = cache.noteColumns(() => {
    cache.get("s", 0, "ts", column);
    cache.get("s", 0, "value", column);
  });
  assert.deepEqual([...columns], ["s/0/ts", "s/0/value"]);
  cache.demote(columns);
  cache.get("s", 0, "ts", column);
  cache.keep("new", "new", 110);
  assert.equal(cache.find("old"), "old");
  assert.notEqual(cache.find("s/0/ts"), undefined, "it was asked for again");
  assert.equal(cache.find("s/0/value"), undefined);
  assert.equal(cache.bytes, 1_330);
});
