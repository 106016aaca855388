import assert from "node:assert/strict";
import { test } from "node:test";
import { ownStatements, plainStatement, statementsNotFound } from "./own-statements.ts";

test("[AM3] a server's text of a statement is known again; others' are left out", () => {
  const texts = [
    "SELECT  a, b FROM accounts WHERE id = :id AND kind = 'x' LIMIT 10;",
    "UPDATE t SET v = v + :delta::int WHERE k = :k",
  ];
  const figure = { calls: 1, totalMs: 1, rows: 1 };
  const known = [
    "SELECT a, b FROM accounts WHERE id = $1 AND kind = $2 LIMIT $3",
    "update t set v = v + $1::int where k=$2",
    "SELECT `a` , `b` FROM `accounts` WHERE `id` = ? AND `kind` = ? LIMIT ?",
    "(all prepared statements)",
  ];
  const others = [
    "SELECT secret FROM salaries WHERE name = $1",
    "COMMIT",
    "SELECT a FROM accounts",
  ];
  const all = [...known, ...others].map((text) => ({ text, ...figure }));
  assert.deepEqual(
    ownStatements(all, texts).map(({ text }) => text),
    known,
  );
  assert.equal(plainStatement("SELECT 1"), plainStatement("select  $1 ;"));
});

/** A template's text, and the server's for it. */
const written: readonly (readonly [own: string, server: string])[] = [
  ["SELECT v FROM t WHERE a = true AND id = :id", "SELECT v FROM t WHERE a = $2 AND id = $1"],
  ["INSERT INTO t (id, n) VALUES (:id, NULL)", "INSERT INTO t (id, n) VALUES ($1, $2)"],
  ["UPDATE t SET v = v + -5 WHERE id = :id", "UPDATE t SET v = v + $2 WHERE id = $1"],
  ["UPDATE t SET v = v - 5 WHERE n IS NULL", "UPDATE t SET v = v - $1 WHERE n IS NULL"],
  ["SELECT 1e5 * v, .5, 1.5e-3, 0x1F FROM t", "SELECT $1 * v, $2, $3, $4 FROM t"],
  ["SELECT E'it\\'s', $$it's$$, X'1F' FROM t", "SELECT $1, $2, $3 FROM t"],
  ["SELECT v FROM t -- it's\nWHERE id = :id", "SELECT v FROM t -- it's\nWHERE id = $1"],
  ["SELECT v FROM t WHERE id IN (1, 2, 3)", "SELECT v FROM t WHERE id IN ($1 /*, ... */)"],
  ["SELECT v FROM t WHERE id IN (1, 2, 3)", "SELECT v FROM t WHERE id IN ($1, $2, $3)"],
  ["SELECT ARRAY[1::int, 2::int]", "SELECT ARRAY[$1 /*, ... */::int]"],
  ["INSERT INTO t VALUES (:a, 1), (:b, 2)", "INSERT INTO `t` VALUES (...) /* , ... */"],
];
for (const [own, server] of written) {
  test(`[AM3] a constant is a parameter, whatever its form: ${own.replaceAll("\n", " ")}`, () => {
    const figure = { text: server, calls: 1, totalMs: 1, rows: 1 };
    assert.deepEqual(ownStatements([figure], [own]), [figure]);
  });
}

test("[AM3] a list of another length is another's statement, unless the server leaves lists out", () => {
  const figure = { text: "SELECT v FROM t WHERE id IN ($1, $2)", calls: 1, totalMs: 1, rows: 1 };
  assert.deepEqual(ownStatements([figure], ["SELECT v FROM t WHERE id IN (1, 2, 3)"]), []);
  assert.notEqual(plainStatement("SELECT v + 5 FROM t"), plainStatement("SELECT v - 5 FROM t"));
});

test("[AM4] statements without figures are named, unless the server counts without texts", () => {
  const figure = { text: "SELECT v FROM t WHERE id = $1", calls: 1, totalMs: 1, rows: 1 };
  const texts = ["SELECT v FROM t WHERE id = :id", "DELETE FROM t"];
  assert.deepEqual(statementsNotFound([figure], texts), ["DELETE FROM t"]);
  assert.deepEqual(statementsNotFound([{ ...figure, text: "(all)" }], texts), []);
});
