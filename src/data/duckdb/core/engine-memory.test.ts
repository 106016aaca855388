import assert from "node:assert/strict";
import { test } from "node:test";
import { duckdbBytesOf } from "../../../ground/process/core/index.ts";
import { decideVictim, kernelBytesOf, type MemoryUse } from "./engine-memory.ts";

const mb = 1024 ** 2;
const limits = { treeBytesMax: 1000 * mb, engineBytesMax: 600 * mb };
const none = undefined;

const cases: readonly (readonly [
  name: string,
  use: MemoryUse,
  want: ReturnType<typeof decideVictim>,
])[] = [
  ["within its share", { treeBytes: 900 * mb, sharedBytes: 500 * mb, aloneBytes: none }, none],
  [
    "over its share, of which nobody else needs the rest",
    { treeBytes: 900 * mb, sharedBytes: 700 * mb, aloneBytes: none },
    none,
  ],
  [
    "the tree is too large: others give way to the one that is tried alone",
    { treeBytes: 1001 * mb, sharedBytes: 200 * mb, aloneBytes: 550 * mb },
    "shared",
  ],
  [
    "an empty process would not help: the one that is tried goes",
    { treeBytes: 1001 * mb, sharedBytes: 90 * mb, aloneBytes: 550 * mb },
    "alone",
  ],
  [
    "the tree is too large, and it has more than DuckDB may take",
    { treeBytes: 1001 * mb, sharedBytes: 500 * mb, aloneBytes: none },
    "shared",
  ],
  [
    "the tree is too large because of others",
    { treeBytes: 1001 * mb, sharedBytes: 300 * mb, aloneBytes: none },
    none,
  ],
  [
    "those that had their turn give way first",
    { treeBytes: 1001 * mb, sharedBytes: 200 * mb, aloneBytes: 300 * mb, overdueBytes: 300 * mb },
    "overdue",
  ],
  [
    "one that had its turn and has little is no help",
    { treeBytes: 1001 * mb, sharedBytes: 200 * mb, aloneBytes: 500 * mb, overdueBytes: 90 * mb },
    "shared",
  ],
  ["no engine", { treeBytes: 2000 * mb, sharedBytes: none, aloneBytes: none }, none],
];
for (const [name, use, want] of cases) {
  test(`[QE4] ${name}: ${want ?? "nobody"} goes`, () => {
    assert.equal(decideVictim(use, limits), want);
  });
}

test("[QE4] DuckDB may take six tenths of what Node leaves of the engine's share", () => {
  assert.equal(duckdbBytesOf(564 * mb), 300 * mb);
  assert.equal(duckdbBytesOf(10 * mb), 16 * mb);
});

test("[QE4] the kernel's limit is half-way between the engine's share and the whole", () => {
  assert.equal(kernelBytesOf(limits), 800 * mb);
  assert.equal(kernelBytesOf({ treeBytesMax: mb, engineBytesMax: 600 * mb }), 600 * mb);
});
