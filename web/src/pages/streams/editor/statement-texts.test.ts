import assert from "node:assert/strict";
import { test } from "node:test";
import { canBePreviewed, placeText, rangeOf, statementsOf } from "./statement-texts.ts";

const texts = (text: string): readonly string[] => statementsOf(text).map((each) => each.text);

test("[WEB76] statements end at semicolons, but for those in quotes and comments", () => {
  assert.deepEqual(texts("  a ;\n b;; "), ["a", "b"]);
  assert.deepEqual(texts("SET(';' AS \"a;b\", `c;d`); x"), ["SET(';' AS \"a;b\", `c;d`)", "x"]);
  assert.deepEqual(texts("a '\\';' ; b"), ["a '\\';'", "b"]);
  assert.deepEqual(texts("a 'it''s;' ; b"), ["a 'it''s;'", "b"]);
  assert.deepEqual(texts("-- a; b\nc; /* d; */ e"), ["-- a; b\nc", "/* d; */ e"]);
  assert.deepEqual(texts("a; -- the end\n"), ["a"]);
  assert.deepEqual(texts(" \n"), []);
  assert.deepEqual(texts("a 'open; b"), ["a 'open; b"]);
});

test("[WEB76] a place is counted from where its statement begins, and marks a word", () => {
  const marked = (text: string, line: number, column: number, statement?: number): string => {
    const range = rangeOf(text, { position: { line, column }, statement });
    assert.ok(range !== undefined);
    return text.slice(range.from, range.to);
  };
  assert.equal(marked("\n\n  CREATE SINK y TYPE Foo;\n", 1, 20), "Foo");
  const two = "CREATE LOGICAL SOURCE x(a INT32);\n\n-- c\n  CREATE SINK y\n TYPE Foo;";
  assert.equal(marked(two, 3, 7, 2), "Foo");
  assert.equal(marked("SELECT a FROM", 1, 14), "M", "the end is marked at its last character");
  assert.equal(rangeOf("SELECT", {}), undefined);
  assert.equal(placeText("a\nbc", 3), "line 2, column 2");
  assert.equal(rangeOf("a; b", { position: { line: 1, column: 1 }, statement: 3 }), undefined);
});

test("[WEB76] one SELECT can be previewed, and nothing else", () => {
  for (const text of ["select a FROM b", "-- c\n WITH x AS (SELECT 1)", "(SELECT a FROM b);"]) {
    assert.ok(canBePreviewed(text), text);
  }
  for (const text of ["", "SHOW QUERIES", "SELECT a FROM b; SELECT c FROM d", "-- SELECT"]) {
    assert.ok(!canBePreviewed(text), text);
  }
});
