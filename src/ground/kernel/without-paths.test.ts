import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutPaths } from "./without-paths.ts";

const cases: readonly (readonly [message: string, want: string])[] = [
  ["ENOSPC: no space left, write", "ENOSPC: no space left, write"],
  ["rename '/a/b c/x.parquet' -> '/a/d/x.parquet'", "rename 'x.parquet' -> 'x.parquet'"],
  [
    'Could not write file "/data/w1/spool/x.parquet": full',
    'Could not write file "x.parquet": full',
  ],
  ["cannot open /data/w1/x.parquet: gone", "cannot open x.parquet: gone"],
  ["8.0 MiB/8.0 MiB used", "8.0 MiB/8.0 MiB used"],
  ["GET http://127.0.0.1:1/artifacts/x failed", "GET http://127.0.0.1:1/artifacts/x failed"],
];
test("[QU44] what a person wrote stays as it is, what is ours does not", () => {
  const sql = "SELECT * FROM '/my/own/file.csv'";
  const message = 'no "/my/own/file.csv" beside /data/w1/x.parquet or "/my/own/other.csv"';
  const want = 'no "/my/own/file.csv" beside x.parquet or "other.csv"';
  assert.equal(withoutPaths(message, sql), want);
});
for (const [message, want] of cases) {
  test(`[QU44] no message shows where files are: ${message}`, () => {
    assert.equal(withoutPaths(message), want);
  });
}
