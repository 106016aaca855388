import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { tableRefs } from "./table-refs.ts";
import { testDuckDb } from "./testing/duckdb.ts";
import { parseTimestamp } from "./timestamps.ts";

const duckdb = testDuckDb();

/** `[catalog.][schema.]name[ AS alias]`, in the order of the text. */
const cases: readonly (readonly [sql: string, refs: readonly string[]])[] = [
  ["SELECT 1", []],
  ["FROM t", ["t"]],
  ["SELECT * FROM s.t AS x JOIN c.s.u USING (a)", ["s.t AS x", "c.s.u"]],
  [
    "SELECT (SELECT max(a) FROM u) FROM t WHERE EXISTS (FROM v) ORDER BY (SELECT 1 FROM w)",
    ["u", "t", "v", "w"],
  ],
  ["SELECT 1 FROM a UNION (SELECT 1 FROM b EXCEPT SELECT 1 FROM c)", ["a", "b", "c"]],
  ["SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x), range(3), unnest([1])", ["a", "b"]],
  ["SELECT * FROM a JOIN b ON a.x IN (SELECT x FROM c)", ["a", "b", "c"]],
  ["WITH c AS (SELECT * FROM t) SELECT * FROM c", ["t"]],
  ["WITH C AS (SELECT 1) SELECT * FROM c", []],
  ["WITH t AS (SELECT * FROM t) SELECT * FROM t", ["t"]],
  ["WITH c AS (SELECT * FROM d), d AS (SELECT 1) SELECT * FROM c, d", ["d"]],
  ["WITH c AS (SELECT 1), d AS (SELECT * FROM c) SELECT * FROM d", []],
  ["WITH c AS (SELECT 1) SELECT * FROM main.c, c", ["main.c"]],
  ["WITH c AS (SELECT 1) SELECT (SELECT 1 FROM c) FROM t WHERE a IN (FROM c)", ["t"]],
  ["(WITH c AS (SELECT 1) FROM c) UNION ALL FROM c", ["c"]],
  ["SELECT * FROM (WITH c AS (SELECT 1) FROM c), c", ["c"]],
  ["WITH RECURSIVE r AS (SELECT a FROM t UNION ALL SELECT a + 1 FROM r WHERE a < 3) FROM r", ["t"]],
  ["WITH RECURSIVE r AS (SELECT a FROM r UNION ALL SELECT a + 1 FROM r WHERE a < 3) FROM r", ["r"]],
  ["WITH RECURSIVE r AS (SELECT a FROM r) FROM r", ["r"]],
  ["WITH RECURSIVE r(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM recurring.r) FROM r", []],
  ["SELECT * FROM recurring.r", ["recurring.r"]],
  ["DESCRIBE t", ["t"]],
  ["SUMMARIZE s.t", ["s.t"]],
  ["FROM (DESCRIBE SELECT * FROM t)", ["t"]],
  ["PIVOT t ON a IN (1, 2) USING sum(b)", ["t"]],
  ["SELECT * FROM t UNPIVOT (v FOR n IN (a, b))", ["t"]],
  ["SELECT * FROM t AS x, t AS y, t", ["t AS x", "t AS y", "t"]],
  ['SELECT * FROM "a b"."c.d"', ["a b.c.d"]],
  ["FROM 'file.csv'", ["file.csv"]],
  ["SHOW TABLES", []],
];
for (const [sql, refs] of cases) {
  test(`[SQ20, SQ21] tables of ${sql}`, async () => {
    const uses = tableRefs(await duckdb.tree(sql));
    const shown = uses.map(({ catalog, schema, name, alias }) => {
      const full = [catalog, schema, name].filter((part) => part !== undefined).join(".");
      return alias === undefined ? full : `${full} AS ${alias}`;
    });
    assert.deepEqual(shown, refs);
  });
}

/** In the order of the text; `*` for a whole table, `=` for a name used as a value. */
const uses: readonly (readonly [sql: string, refs: readonly string[]])[] = [
  ["SELECT a, count(*), t.b FROM t GROUP BY ALL", ["t"]],
  ["SELECT * FROM t", ["t*"]],
  ["FROM t, u", ["t*", "u*"]],
  ["SELECT t.* FROM t, u", ["t*", "u"]],
  ["SELECT count(*) FROM (SELECT DISTINCT * FROM t)", ["t*"]],
  ["SELECT * FROM (SELECT a FROM t) x", ["t"]],
  ["WITH x AS (SELECT a FROM t) SELECT * FROM x, u", ["t", "u*"]],
  ["SELECT to_json(t) FROM t", ["t="]],
  ["SELECT md5(X::VARCHAR) FROM t x", ["t="]],
  ["SELECT count(DISTINCT main.t) FROM main.t", ["t="]],
  ["SELECT (SELECT hash(t)) FROM t", ["t="]],
  ["SELECT a FROM t WHERE EXISTS (SELECT t.* INTERSECT SELECT * FROM u)", ["t*", "u*"]],
  ["SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a)", ["t", "u*"]],
  ["SELECT a FROM t WHERE a IN (FROM u)", ["t", "u*"]],
  ["SELECT a FROM t NATURAL JOIN u JOIN v USING (a)", ["t*", "u*", "v"]],
  ["SELECT sum(COLUMNS('a.*')) FROM t", ["t*"]],
  ["SELECT a FROM t ORDER BY COLUMNS(*) LIMIT 1", ["t*"]],
  ["FROM t UNION BY NAME SELECT a FROM u", ["t*", "u"]],
  ["SELECT b FROM t AS x(a, b)", ["t*"]],
  ["SELECT #2 FROM t", ["t*"]],
  ["SELECT 1 FROM t PIVOT (sum(a) FOR k IN ('x'))", ["t*"]],
  ["SELECT count(*) FROM (SUMMARIZE t)", ["t*"]],
];
for (const [sql, refs] of uses) {
  test(`[SQ26] what is read whole in ${sql}`, async () => {
    const found = tableRefs(await duckdb.tree(sql));
    const shown = found.map(
      ({ name, isWhole, isValue }) => `${name}${isWhole ? "*" : ""}${isValue ? "=" : ""}`,
    );
    assert.deepEqual(shown, refs);
  });
}

test("[SQ20] positions are in characters", async () => {
  const sql = "SELECT 'é😀', a FROM täbel, \"ü\" JOIN main.u USING (a)";
  const positions = tableRefs(await duckdb.tree(sql)).map(({ position }) => position);
  assert.deepEqual(positions, [sql.indexOf("täbel"), sql.indexOf('"ü"'), sql.indexOf("main.u")]);
});

const moments: readonly (readonly [clause: string, at: unknown])[] = [
  ["", { kind: "current" }],
  ["AT (VERSION => 0)", { kind: "version", snapshot: 0 }],
  ["AT (version => 42)", { kind: "version", snapshot: 42 }],
  ["AT (TIMESTAMP => '2024-05-01')", { kind: "time", timeMs: 1_714_521_600_000 }],
  [
    "AT (TIMESTAMP => TIMESTAMP '2024-05-01 12:00:00')",
    { kind: "time", timeMs: 1_714_564_800_000 },
  ],
  [
    "AT (TIMESTAMP => '2024-05-01 12:00:00+02'::TIMESTAMPTZ)",
    { kind: "time", timeMs: 1_714_557_600_000 },
  ],
  ["AT (TIMESTAMP => DATE '2024-05-01')", { kind: "time", timeMs: 1_714_521_600_000 }],
];
for (const [clause, at] of moments) {
  test(`[SQ22] t ${clause}`, async () => {
    const [use] = tableRefs(await duckdb.tree(`SELECT * FROM t ${clause}`));
    assert.deepEqual(use?.at, at);
  });
}

const noMoments = [
  ["VERSION => -1", /a version is the number of a snapshot/],
  ["VERSION => '3'", /a version is the number of a snapshot/],
  ["VERSION => 1 + 1", /a version is the number of a snapshot/],
  ["VERSION => 99999999999999999999", /a version is the number of a snapshot/],
  ["TIMESTAMP => now()", /a moment is a literal date and time/],
  ["TIMESTAMP => '2024-13-01'", /a moment is a literal date and time/],
  ["TIMESTAMP => 'yesterday'::TIMESTAMP", /a moment is a literal date and time/],
  ["TIMESTAMP => 5", /a moment is a literal date and time/],
  ["TIMESTAMP => '12:00'::TIME", /a moment is a literal date and time/],
] as const;
for (const [inside, message] of noMoments) {
  test(`[SQ22] AT (${inside}) is refused with its place`, async () => {
    const tree = await duckdb.tree(`SELECT * FROM u, t AT (${inside})`);
    assert.throws(
      () => tableRefs(tree),
      (thrown) => {
        assert(thrown instanceof OperatingError && thrown.code === "bad_sql");
        assert.match(thrown.message, message);
        assert.match(thrown.message, /\n {25}\^$/);
        assert.notEqual(thrown.hint, undefined);
        return true;
      },
    );
  });
}

test("[SQ22] a time is what DuckDB makes of it", async () => {
  const texts = [
    "2024-02-29",
    "1970-01-01 00:00",
    "1969-12-31 23:59:59.999",
    "2024-05-01T12:30:45.123456Z",
    "2024-5-1 1:02:03.5",
    "1900-03-01 00:00:00",
    "2000-02-29 23:59:59+00",
    "2024-12-31 23:59:59.999999-11:30",
    "0001-01-01",
    "9999-12-31 23:59:59",
    "2023-02-29",
    "2024-04-31",
    "2024-01-01 24:00:01",
    "2024-01-01 12:60:00",
    "2024-00-10",
    "tomorrow",
  ];
  for (const text of texts) {
    const sql = "SELECT epoch_us(TRY_CAST($1 AS TIMESTAMPTZ))::VARCHAR";
    const [[us] = []] = await duckdb.rows(sql, [text]);
    const wanted = us === null ? undefined : Math.floor(Number(us) / 1_000);
    assert.equal(parseTimestamp(text), wanted, text);
  }
});

test("[SQ23] what does not parse says where, in characters", async () => {
  await assert.rejects(duckdb.tree("SELECT 'é😀' FORM t WHERE"), (thrown) => {
    assert(thrown instanceof OperatingError && thrown.code === "bad_sql");
    assert.match(thrown.message, /^Parser Error: syntax error at .*\nLINE 1: SELECT 'é😀' FORM t/);
    return true;
  });
  await assert.rejects(duckdb.tree("SELECT 1; SELECT 2"), /one statement at a time: here are 2/);
  await assert.rejects(duckdb.tree(""), /there is no statement/);
  await assert.rejects(duckdb.tree("DROP TABLE t"), /only SELECT statements/);
  await assert.rejects(duckdb.tree("PIVOT t ON a USING sum(b)"), (thrown) => {
    return thrown instanceof OperatingError && (thrown.hint ?? "").includes("IN ('a', 'b')");
  });
});
