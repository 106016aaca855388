import assert from "node:assert/strict";
import { test } from "node:test";
import { isBlank, splitStatements } from "./split-statements.ts";

const cases = [
  { name: "nothing", script: "", statements: [], rest: "" },
  { name: "one, unfinished", script: "SELECT 1", statements: [], rest: "SELECT 1" },
  { name: "two", script: "SELECT 1; SELECT 2;", statements: ["SELECT 1", "SELECT 2"], rest: "" },
  { name: "empty ones", script: ";; SELECT 1;;", statements: ["SELECT 1"], rest: "" },
  { name: "in a string", script: "SELECT ';';", statements: ["SELECT ';'"], rest: "" },
  {
    name: "in a doubled quote",
    script: "SELECT 'it''s;';",
    statements: ["SELECT 'it''s;'"],
    rest: "",
  },
  { name: "in a name", script: 'SELECT "a;b";', statements: ['SELECT "a;b"'], rest: "" },
  { name: "in a comment", script: "SELECT 1 -- no;\n;", statements: ["SELECT 1 -- no;"], rest: "" },
  {
    name: "in a block",
    script: "SELECT /* a;b */ 1;",
    statements: ["SELECT /* a;b */ 1"],
    rest: "",
  },
  {
    name: "in a block within a block",
    script: "SELECT /* a; /* b; */ c; */ 1;",
    statements: ["SELECT /* a; /* b; */ c; */ 1"],
    rest: "",
  },
  { name: "in dollars", script: "SELECT $$a;b$$;", statements: ["SELECT $$a;b$$"], rest: "" },
  {
    name: "in tagged dollars",
    script: "SELECT $x$a;$$;b$x$;",
    statements: ["SELECT $x$a;$$;b$x$"],
    rest: "",
  },
  {
    name: "in an escape string",
    script: "SELECT e'a\\';b';",
    statements: ["SELECT e'a\\';b'"],
    rest: "",
  },
  {
    name: "in an open string",
    script: "SELECT 1; SELECT 'a;",
    statements: ["SELECT 1"],
    rest: " SELECT 'a;",
  },
  {
    name: "in an open comment",
    script: "SELECT 1; /* a;",
    statements: ["SELECT 1"],
    rest: " /* a;",
  },
];
for (const { name, script, statements, rest } of cases) {
  test(`[CM5] semicolons: ${name}`, () => {
    const split = splitStatements(script);
    assert.deepEqual(split.statements, statements);
    const found = split.starts.map((at, index) => script.startsWith(statements[index] ?? "?", at));
    assert.deepEqual(
      found,
      statements.map(() => true),
    );
    assert.equal(split.rest.trim(), rest.trim());
  });
}

test("[CM5] only comments and white space are blank", () => {
  assert.ok(isBlank(" -- a\n /* b */\n"));
  assert.ok(!isBlank("SELECT 1 -- a"));
});
