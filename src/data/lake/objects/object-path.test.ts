import assert from "node:assert/strict";
import { posix, win32 } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { checkObjectPrefix, isObjectPath } from "./object-path.ts";

/** Segments of names, valid and invalid. */
const piece = fc.oneof(
  fc.constantFrom("..", ".", "", "/", "//", "\\", "a", "é", ".writing", "\0", "C:", "~", "%2e%2e"),
  fc.string({ maxLength: 3, unit: "binary" }),
);
const anyPath = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join("/"));

test("[LO2] no name that is taken leads out of the root, or to another name's file", () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      if (!isObjectPath(path)) return;
      assert.equal(posix.join("/root", path), `/root/${path}`);
      assert.ok(win32.join("c:\\root", path).startsWith("c:\\root\\"));
      assert.ok(!path.startsWith(".writing/"));
      checkObjectPrefix(path);
    }),
    { numRuns: 2_000 },
  );
});

test("[LO2] every beginning of a name is a prefix", () => {
  for (const path of ["main/orders/..a/.b/x.parquet", "..c"]) {
    for (let end = 0; end <= path.length; end += 1) checkObjectPrefix(path.slice(0, end));
  }
  for (const prefix of ["/", "../", "a/../", "a//", "./", "a\\", ".writing/"]) {
    assert.throws(() => checkObjectPrefix(prefix), { code: "bad_request" }, prefix);
  }
});
