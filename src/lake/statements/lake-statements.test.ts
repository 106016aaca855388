import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, test } from "node:test";
import { startLakeCluster } from "./testing/lake-cluster.ts";

const cluster = await startLakeCluster();
after(() => cluster.close());
const { rows } = cluster;

test("[LS1] a table is created, filled, read, changed and dropped", async () => {
  assert.deepEqual(
    await rows(
      "CREATE TABLE orders (id BIGINT, category VARCHAR, amount DECIMAL(10,2) DEFAULT 1.5, at TIMESTAMP)",
    ),
    [["created"]],
  );
  assert.deepEqual(await rows("SELECT count(orders.at) FROM orders"), [[0]]);
  assert.deepEqual(
    await rows(
      "INSERT INTO orders VALUES (1, 'a', 2.50, '2026-01-01'), (2, 'b', 4, NULL), (3, NULL, 1, NULL)",
    ),
    [["inserted", 3]],
  );
  assert.deepEqual(
    await rows("INSERT INTO orders (category, id) SELECT category, id + 10 FROM orders"),
    [["inserted", 3]],
  );
  assert.deepEqual(await rows("SELECT id, category, amount::DOUBLE FROM main.orders ORDER BY id"), [
    [1, "a", 2.5],
    [2, "b", 4],
    [3, null, 1],
    [11, "a", 1.5],
    [12, "b", 1.5],
    [13, null, 1.5],
  ]);
  assert.deepEqual(
    await rows("UPDATE orders AS o SET amount = o.amount * 2, category = 'x' WHERE id > 11"),
    [["updated", 2]],
  );
  assert.deepEqual(await rows("DELETE FROM orders WHERE category = 'a' -- all of them"), [
    ["deleted", 2],
  ]);
  assert.deepEqual(await rows("DELETE FROM orders WHERE category = 'a'"), [["deleted", 0]]);
  assert.deepEqual(
    await rows(
      "SELECT category, sum(amount)::DOUBLE FROM orders GROUP BY category ORDER BY 1 NULLS FIRST",
    ),
    [
      [null, 1],
      ["b", 4],
      ["x", 6],
    ],
  );
  assert.deepEqual(await rows("DROP TABLE orders"), [["dropped"]]);
  await assert.rejects(rows("SELECT * FROM orders"), { code: "not_found" });
});

test("[LS2] a SELECT may read tables as they were", async () => {
  await rows("CREATE TABLE t AS SELECT range AS n FROM range(3)");
  const { snapshot } = await cluster.catalog.current();
  await rows("DELETE FROM t WHERE n = 1");
  await rows("ALTER TABLE t ADD COLUMN note VARCHAR DEFAULT 'none'");
  await rows("ALTER TABLE t RENAME COLUMN n TO number");
  assert.deepEqual(await rows("SELECT * FROM t ORDER BY 1"), [
    [0, "none"],
    [2, "none"],
  ]);
  assert.deepEqual(
    await rows(
      `SELECT old.n, new.number FROM t AS old AT (VERSION => ${snapshot}) LEFT JOIN t AS new ON old.n = new.number ORDER BY 1`,
    ),
    [
      [0, 0],
      [1, null],
      [2, 2],
    ],
  );
});

test("[LS3, LS6] what is wrong is told before anything is written", async () => {
  await rows("CREATE TABLE few (a INTEGER, b INTEGER NOT NULL)");
  const before = (await cluster.catalog.current()).snapshot;
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["INSERT INTO few VALUES (1)", /takes 2 values here, but the query has 1/],
    ["INSERT INTO few (c) VALUES (1)", /has no column/],
    ["INSERT INTO few VALUES (1, 'x')", /Conversion Error/],
    ["INSERT INTO few VALUES (1, NULL)", /NULL/],
    ["UPDATE few SET a = nothing", /nothing/],
    ["DELETE FROM nowhere", /nowhere/],
    ["CREATE TABLE few (a INTEGER)", /few/],
    ["CREATE TABLE more (_row_id INTEGER)", /no column can be named _row_id/],
    ["CREATE TABLE more AS SELECT 1 AS _position", /no column can be named _position/],
    ["ALTER TABLE few RENAME a TO _File_Id", /no column can be named _File_Id/],
    [
      "CREATE TABLE more (a INTEGER, b VARCHAR DEFAULT (SELECT content FROM read_text('/etc/hosts')))",
      /cannot be (read|used) here/,
    ],
    ["ALTER TABLE few ADD COLUMN d VARCHAR DEFAULT getenv('HOME')", /getenv|literal/],
    ["CREATE TABLE more (a INTEGER, b nonsense)", /nonsense/],
    ["SELECT * FROM few WHERE c = 1", /LINE 1: SELECT \* FROM few WHERE c = 1/],
    ["INSERT INTO few SELECT * FROM read_csv('/etc/passwd')", /cannot be (read|used) here/],
  ];
  for (const [sql, message] of wrong) await assert.rejects(rows(sql), { message }, sql);
  assert.equal((await cluster.catalog.current()).snapshot, before);
});

test("[LS4] writers of one table at a time all succeed", async () => {
  await rows("CREATE TABLE counters AS SELECT range AS id, 0 AS n FROM range(4)");
  const writes = Array.from({ length: 8 }, (_, index) =>
    rows(`UPDATE counters SET n = n + 1 WHERE id = ${index % 4}`),
  );
  await Promise.all([...writes, rows("INSERT INTO counters VALUES (9, 9)")]);
  assert.deepEqual(await rows("SELECT id, n FROM counters ORDER BY id"), [
    [0, 2],
    [1, 2],
    [2, 2],
    [3, 2],
    [9, 9],
  ]);
});

async function upload(text: string): Promise<string> {
  const { uploads } = cluster;
  const id = uploads.begin();
  const bytes = Buffer.from(text);
  const half = Math.floor(bytes.length / 2);
  assert.equal(await uploads.append(id, 0, bytes.subarray(0, half)), half);
  assert.equal(await uploads.append(id, 0, bytes.subarray(0, half)), half);
  await assert.rejects(uploads.append(id, half + 1, bytes), { code: "bad_request" });
  assert.equal(await uploads.append(id, half, bytes.subarray(half)), bytes.length);
  return id;
}

test("[LS5] COPY takes a file that was sent, by DuckDB's rules, whole or not at all", async () => {
  await rows("CREATE TABLE copied (id BIGINT, name VARCHAR DEFAULT 'nobody', n INTEGER)");
  const good = await upload("id,name,n\n1,a,10\n2,b,\n");
  assert.deepEqual(await rows("COPY copied FROM 'good.csv'", good), [["copied", 2]]);
  const named = await upload("7;70\n8;80\n");
  assert.deepEqual(
    await rows("COPY copied (id, n) FROM 'x.csv' (HEADER false, DELIMITER ';')", named),
    [["copied", 2]],
  );
  const bad = "id,name,n\n3,c,30\n4,d,many\n5,e,50\n";
  await assert.rejects(rows("COPY copied FROM 'bad.csv' (HEADER)", await upload(bad)), {
    message: /Line: 3/,
  });
  assert.deepEqual(
    await rows("COPY copied FROM 'bad.csv' (HEADER, IGNORE_ERRORS)", await upload(bad)),
    [["copied", 2]],
  );
  assert.deepEqual(await rows("SELECT * FROM copied ORDER BY id"), [
    [1, "a", 10],
    [2, "b", null],
    [3, "c", 30],
    [5, "e", 50],
    [7, "nobody", 70],
    [8, "nobody", 80],
  ]);
  await assert.rejects(rows("COPY copied FROM 'x.csv'"), { code: "bad_request" });
  await assert.rejects(rows("COPY copied FROM 'x.csv'", "upload-none"), { code: "not_found" });
  await assert.rejects(rows("COPY copied FROM 'x.csv' (FILENAME)", await upload("1")), {
    message: /no option FILENAME/,
  });
  const left = readdirSync(cluster.lakeDir).filter((name) => name === "uploads");
  assert.deepEqual(left, []);
});
