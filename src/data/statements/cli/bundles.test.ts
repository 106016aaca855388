import assert from "node:assert/strict";
import { test } from "node:test";
import { Bundles } from "./bundles.ts";

function run(...statements: readonly string[]): readonly string[] {
  const bundles = new Bundles();
  return statements.flatMap((statement) => bundles.take(statement) ?? []);
}

test("[SR7] what stands between BEGIN and COMMIT is one text", () => {
  const asked = run("SHOW TABLES", "-- all\nbegin", "CREATE SINK a", "DROP SINK b", "commit", "x");
  assert.deepEqual(asked, ["SHOW TABLES", "CREATE SINK a;\nDROP SINK b", "x"]);
});

test("[SR7] ROLLBACK discards, an empty bundle is nothing, and bundles do not nest", () => {
  assert.deepEqual(run("BEGIN TRANSACTION", "CREATE SINK a", "ROLLBACK", "x"), ["x"]);
  assert.deepEqual(run("BEGIN", "COMMIT"), []);
  assert.throws(() => run("BEGIN", "BEGIN"), /BEGIN within a bundle/);
  const open = new Bundles();
  open.take("BEGIN");
  assert.ok(open.isOpen);
  open.discard();
  assert.equal(open.take("x"), "x");
});

test("[SR7] without BEGIN, COMMIT is left to the server, which refuses it", () => {
  assert.deepEqual(run("COMMIT"), ["COMMIT"]);
});
