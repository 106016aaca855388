/** Changes to tables that dynamic tables read, over real files, with DuckDB. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LakeStore } from "../../../data/lake/index.ts";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import { type RefreshingLake, startRefreshingLake } from "./testing/refreshing-lake.ts";

const lake = await startRefreshingLake();
test.after(() => lake.close());
await lake.startWorker("w1");
const lag = "TARGET_LAG = '1 second'";

async function stateOf(table: string): Promise<string> {
  const shown = (await lake.rows("SHOW DYNAMIC TABLES")).find(([name]) => name === table);
  return String(shown?.[1]);
}

async function until(table: string, state: RegExp): Promise<void> {
  await eventually(`${table} to be ${state}`, async () =>
    state.test(await stateOf(table)) ? true : undefined,
  );
}

test("[TG12] what dynamic tables read is neither renamed nor dropped, by whatever name; the rest is", async () => {
  await lake.rows('CREATE TABLE Orders (Id INTEGER, "Kind" VARCHAR, amount INTEGER, note VARCHAR)');
  await lake.rows("INSERT INTO orders VALUES (1, 'a', 10, 'x'), (2, 'b', 20, 'y')");
  await lake.rows(
    `CREATE DYNAMIC TABLE sums ${lag} AS SELECT KIND, sum(o.AMOUNT)::BIGINT AS s FROM main.ORDERS o GROUP BY ALL`,
  );
  await lake.rows(`CREATE DYNAMIC TABLE total ${lag} AS SELECT sum(s)::BIGINT AS t FROM sums`);
  await lake.rows(
    `CREATE DYNAMIC TABLE "Copy" ${lag} AS FROM (SELECT * EXCLUDE (note) FROM orders)`,
  );
  const refused = (statement: string, message: RegExp) =>
    assert.rejects(lake.rows(statement), { code: "reference_violated", message });
  await refused("ALTER TABLE orders RENAME TO orders2", /Orders is read by sums, "?Copy"?/);
  await refused('ALTER TABLE main."ORDERS" RENAME TO orders2', /is read by sums/);
  await refused(
    "ALTER TABLE orders RENAME COLUMN kind TO sort",
    /column Kind of Orders is read by sums/,
  );
  await refused('ALTER TABLE orders DROP COLUMN "AMOUNT"', /column amount .* sums, "?Copy"?/);
  await refused(
    "ALTER TABLE orders RENAME COLUMN id TO number",
    /column Id of Orders is read by "?Copy"?$/,
  );
  await refused("ALTER TABLE orders DROP COLUMN note", /is read by "?Copy"?$/);
  await refused("DROP TABLE orders", /is read by/);
  await refused("CREATE OR REPLACE TABLE orders AS SELECT 1 AS id", /is read by/);
  await refused("DROP DYNAMIC TABLE sums", /is read by total/);
  await assert.rejects(lake.rows("ALTER TABLE sums RENAME TO other"), /is a dynamic table/);
  await assert.rejects(lake.rows("ALTER TABLE sums RENAME COLUMN s TO x"), /is a dynamic table/);
  await lake.rows("ALTER TABLE orders ADD COLUMN extra INTEGER");
  await lake.rows("ALTER TABLE orders RENAME COLUMN extra TO more");
  await lake.rows("ALTER TABLE orders DROP COLUMN more");
  await lake.rows('DROP DYNAMIC TABLE "Copy"');
  await lake.rows("ALTER TABLE orders DROP COLUMN note");
  await lake.rows("ALTER TABLE orders RENAME COLUMN id TO number");
  await lake.rows("INSERT INTO orders VALUES (3, 'a', 5)");
  await lake.untilFresh(
    "SELECT t FROM total",
    [[35n]].map((row) => row.map(Number)),
  );
});

test("[TG12] a column counts as read where a star, a whole row or a position reads it unseen", async () => {
  await lake.rows("CREATE TABLE o (id INTEGER, kind VARCHAR, note VARCHAR)");
  await lake.rows("CREATE TABLE p (id INTEGER, kind VARCHAR, note VARCHAR)");
  await lake.rows("INSERT INTO o VALUES (1, 'a', 'x'), (1, 'a', 'y')");
  const unseen = [
    "SELECT count(*) AS n FROM (SELECT DISTINCT * FROM o)",
    "SELECT CAST(to_json(o) AS VARCHAR) AS doc FROM o",
    "SELECT md5(x::VARCHAR) AS h FROM main.o AS x",
    "SELECT hash(o) AS h FROM main.o",
    "SELECT count(DISTINCT o) AS n FROM o",
    "SELECT 1 AS n WHERE EXISTS (SELECT * FROM o INTERSECT SELECT * FROM p)",
    "SELECT count(*) AS n FROM o NATURAL JOIN p",
    "SELECT count(*) AS n FROM (SELECT DISTINCT COLUMNS(c -> c <> 'x') FROM o)",
    "SELECT count(*) AS n FROM (FROM o UNION BY NAME FROM p)",
    "SELECT c FROM o AS x(a, b, c)",
    "SELECT count(DISTINCT #3) AS n FROM o",
  ];
  for (const [index, definition] of unseen.entries()) {
    await lake.rows(`CREATE DYNAMIC TABLE unseen ${lag} AS ${definition}`);
    for (const change of ["RENAME COLUMN note TO remark", "DROP COLUMN note"]) {
      await assert.rejects(
        lake.rows(`ALTER TABLE o ${change}`),
        { code: "reference_violated", message: /column note of o is read by unseen/ },
        `${change}, ${index}: ${definition}`,
      );
    }
    await lake.rows("DROP DYNAMIC TABLE unseen");
  }
  await lake.rows(
    `CREATE DYNAMIC TABLE few ${lag} AS
       SELECT * FROM (SELECT o.id, count(*) AS name FROM o JOIN p USING (id) GROUP BY ALL) x`,
  );
  await lake.rows("ALTER TABLE o RENAME COLUMN note TO remark");
  await lake.rows("ALTER TABLE o DROP COLUMN remark");
});

test("[TG13] ADD COLUMN changes nothing for SELECT *, nor for names that were clear before", async () => {
  await lake.rows("CREATE TABLE facts AS SELECT 1 AS k, 10 AS v");
  await lake.rows("CREATE TABLE names AS SELECT 1 AS id, 'one' AS name");
  await lake.rows(`CREATE DYNAMIC TABLE whole ${lag} AS SELECT * FROM facts`);
  await lake.rows(`CREATE DYNAMIC TABLE above ${lag} REFRESH_MODE = FULL AS SELECT * FROM whole`);
  await lake.rows(
    `CREATE DYNAMIC TABLE joined ${lag} AS SELECT v, name FROM facts JOIN names ON k = id`,
  );
  assert.deepEqual(await lake.rows("SELECT * FROM above"), [[1, 10]]);
  await lake.rows("ALTER TABLE facts ADD COLUMN name VARCHAR DEFAULT 'new'");
  await lake.rows("INSERT INTO facts VALUES (1, 20, 'x')");
  await lake.untilFresh("SELECT * FROM above ORDER BY v", [
    [1, 10],
    [1, 20],
  ]);
  await lake.untilFresh("SELECT * FROM joined ORDER BY v", [
    [10, "one"],
    [20, "one"],
  ]);
  assert.match(await stateOf("whole"), /^ACTIVE/);
  await lake.rows("ALTER DYNAMIC TABLE whole SET REFRESH_MODE = INCREMENTAL");
  await lake.rows(
    "CREATE OR REPLACE DYNAMIC TABLE whole TARGET_LAG = '1 second' AS SELECT v, k, name FROM facts",
  );
  await lake.rows("INSERT INTO facts VALUES (2, 30, 'z')");
  await lake.untilFresh("SELECT * FROM above ORDER BY v", [
    [1, 10],
    [1, 20],
    [2, 30],
  ]);
});

test("[TC20] a value that does not cast fails the table until it is corrected; readers follow", async () => {
  await lake.rows("CREATE TABLE texts AS SELECT '1' AS n");
  await lake.rows(
    `CREATE DYNAMIC TABLE numbers ${lag} AS SELECT CAST(n AS INTEGER) AS n FROM texts`,
  );
  await lake.rows(`CREATE DYNAMIC TABLE doubled ${lag} AS SELECT 2 * n AS n FROM numbers`);
  assert.deepEqual(await lake.rows("SELECT n FROM doubled"), [[2]]);
  await lake.rows("INSERT INTO texts VALUES ('two')");
  await until("numbers", /^FAILED: .*two/);
  await lake.rows("UPDATE texts SET n = '2' WHERE n = 'two'");
  await lake.untilFresh("SELECT n FROM doubled ORDER BY n", [[2], [4]]);
  assert.match(await stateOf("numbers"), /^ACTIVE/);
});

test("[TG14] REFRESH … WAIT ends when the table is fresh, or says why it is not", async () => {
  await lake.rows("CREATE TABLE given AS SELECT '1' AS n");
  await lake.rows(
    "CREATE DYNAMIC TABLE slow TARGET_LAG = '1 hour' AS SELECT CAST(n AS INTEGER) AS n FROM given",
  );
  await lake.rows("CREATE DYNAMIC TABLE slower TARGET_LAG = '1 hour' AS SELECT n FROM slow");
  await lake.rows("REFRESH DYNAMIC TABLE slower WAIT");
  await lake.rows("INSERT INTO given VALUES ('2')");
  await lake.rows("REFRESH DYNAMIC TABLE slower WAIT");
  assert.deepEqual(await lake.rows("SELECT n FROM slower ORDER BY n"), [[1], [2]]);
  await lake.rows("INSERT INTO given VALUES ('three')");
  const failed = { code: "query_failed", message: /slow, which it reads, is FAILED: .*three/ };
  await assert.rejects(lake.rows("REFRESH DYNAMIC TABLE slower WAIT"), failed);
  await lake.rows("DELETE FROM given WHERE n = 'three'");
  await lake.rows("REFRESH DYNAMIC TABLE slower WAIT");
  assert.deepEqual(await lake.rows("SELECT count(*) FROM slower"), [[2]]);
  await lake.rows("ALTER DYNAMIC TABLE slow SUSPEND");
  await assert.rejects(lake.rows("REFRESH DYNAMIC TABLE slower WAIT"), { code: "bad_request" });
});

test("[TG15] RESUME finds a source that was dropped by somebody else and made again", async () => {
  await lake.rows("CREATE TABLE once AS SELECT 1 AS n");
  await lake.rows(`CREATE DYNAMIC TABLE seen ${lag} AS SELECT * FROM once`);
  await lake.rows("REFRESH DYNAMIC TABLE seen WAIT");
  await dropUnseen(lake, "once");
  await assert.rejects(lake.rows("ALTER DYNAMIC TABLE seen RESUME"), /once/);
  await lake.rows("CREATE TABLE once AS SELECT 2 AS n");
  await lake.rows("ALTER DYNAMIC TABLE seen SUSPEND");
  await lake.rows("ALTER DYNAMIC TABLE seen RESUME");
  await lake.rows("REFRESH DYNAMIC TABLE seen WAIT");
  assert.deepEqual(await lake.rows("SELECT n FROM seen"), [[2]]);
  await dropUnseen(lake, "once");
  await lake.rows("CREATE TABLE once AS SELECT 3 AS n, 4 AS m");
  await assert.rejects(lake.rows("ALTER DYNAMIC TABLE seen RESUME"), {
    code: "bad_sql",
    message: /the columns of seen are no longer those of its definition/,
  });
});

/** Drops a table as DuckLake's own extension would, which does not know dynamic tables. */
async function dropUnseen({ cluster }: RefreshingLake, name: string): Promise<void> {
  const catalog: LakeStore = cluster.catalog;
  const table = (await catalog.tables()).find((each) => each.name === name);
  assert.ok(table !== undefined);
  const { snapshot } = await catalog.current();
  await catalog.commit({
    readSnapshot: snapshot,
    token: `elsewhere ${snapshot}`,
    changes: [{ kind: "dropTable", tableId: table.tableId }],
    author: "elsewhere",
    message: "",
  });
}
