import assert from "node:assert/strict";
import { test } from "node:test";
import { duckdbMemoryLimit, sqliteValueBytes } from "./target-memory.ts";

const mebibyte = 1024 ** 2;

const limits = [
  { name: "nobody says", given: undefined, processBytes: undefined, want: undefined },
  { name: "nobody says, and the URL does", given: "9GB", processBytes: undefined, want: "9GB" },
  { name: "six tenths of what Node leaves", given: undefined, processBytes: 1064, want: "600MiB" },
  { name: "the URL wants less", given: "100MB", processBytes: 1064, want: "100MB" },
  { name: "the URL wants more", given: "1GB", processBytes: 1064, want: "bad_request" },
  { name: "just as much", given: "629MB", processBytes: 1064, want: "629MB" },
  { name: "a little more", given: "630MB", processBytes: 1064, want: "bad_request" },
];
for (const { name, given, processBytes, want } of limits) {
  test(`[TM1] DuckDB's limit within its process: ${name}`, () => {
    const bytes = processBytes === undefined ? undefined : processBytes * mebibyte;
    if (want === "bad_request") {
      assert.throws(() => duckdbMemoryLimit(given, bytes), { code: "bad_request" });
    } else {
      assert.equal(duckdbMemoryLimit(given, bytes), want);
    }
  });
}

test("[TM2] a value of SQLite is an eighth of its process, and never more than SQLite allows", () => {
  assert.equal(sqliteValueBytes(800 * mebibyte), 100 * mebibyte);
  assert.equal(sqliteValueBytes(64 * 1024 * mebibyte), 1_000_000_000);
  assert.equal(sqliteValueBytes(undefined), 1_000_000_000);
});
