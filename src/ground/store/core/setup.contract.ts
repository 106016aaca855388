/** Setting up and opening: forward only, rerunnable, refusing unknown schemas. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { lakeTableColumns } from "../../../data/lake/core/tables.ts";
import { metricTableColumns } from "../../../kinds/ask/metrics/core/tables.ts";
import { loadTableColumns } from "../../../kinds/load/core/tables.ts";
import { refreshTableColumns } from "../../../kinds/refresh/core/tables.ts";
import { catalogTableColumns } from "../../../kinds/stream/catalog/core/tables.ts";
import { streamTableColumns } from "../../../kinds/stream/run/core/tables.ts";
import { readSchemaVersion } from "../setup/open-store.ts";
import { storeTables } from "../setup/store-tables.ts";
import { makeSchemaDir, todaysVersion } from "../testing/schema-dirs.ts";
import { openFresh, openOn, type StoreFixture } from "../testing/store-fixture.ts";
import { workerRow } from "../testing/worker-row.ts";
import { storeTableColumns } from "./schema.ts";

const tableColumns = {
  ...storeTableColumns,
  ...lakeTableColumns,
  ...loadTableColumns,
  ...metricTableColumns,
  ...refreshTableColumns,
  ...streamTableColumns,
  ...catalogTableColumns,
};

export function testSetup(fixture: StoreFixture): void {
  describe("setup", () => {
    test("[ST50] the database's columns are those of the types, in their order", async (t) => {
      const { store } = await openFresh(fixture, t);
      assert.deepEqual(new Set(Object.keys(tableColumns)), new Set(storeTables()));
      for (const [table, columns] of Object.entries(tableColumns)) {
        const found = await store.read(async ({ db }) => {
          const query =
            fixture.dialect === "sqlite"
              ? sql<Column>`SELECT name, type FROM pragma_table_info(${table}) ORDER BY cid`
              : sql<Column>`SELECT column_name AS name, data_type AS type
                              FROM information_schema.columns
                             WHERE table_name = ${table} ORDER BY ordinal_position`;
          return (await query.execute(db)).rows;
        });
        const kinds = found.map(({ name, type }) => [name, /text/i.test(type) ? "text" : "number"]);
        assert.deepEqual(kinds, Object.entries(columns), table);
      }
    });

    test("[ST51] setup again changes nothing", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
      assert.deepEqual(await place.setup(), { from: todaysVersion, to: todaysVersion });
      assert.equal(
        await store.read(async ({ db }) =>
          countOf(await db.selectFrom("workers").select("worker_id").execute()),
        ),
        1,
      );
    });

    test("[ST51] several setups at once apply every migration once", async (t) => {
      const place = await fixture.createPlace();
      const schemaDir = makeSchemaDir("CREATE TABLE a (x TEXT);", "CREATE TABLE b (x TEXT);");
      const results = await Promise.all(
        Array.from({ length: 4 }, () => place.setup({ schemaDir })),
      );
      for (const { to } of results) assert.equal(to, todaysVersion + 2);
      const store = await openOn(place, t, { schemaDir });
      const versions = await store.read(({ db }) =>
        db.selectFrom("schema_version").select("version").orderBy("version").execute(),
      );
      assert.deepEqual(
        versions.map(({ version }) => version),
        Array.from({ length: todaysVersion + 2 }, (_, index) => index + 1),
      );
    });

    test("[ST52] a migration takes the data along", async (t) => {
      const place = await fixture.createPlace();
      assert.deepEqual(await place.setup(), { from: 0, to: todaysVersion });
      const before = await place.open();
      await before.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")));
      await before.close();
      const schemaDir = makeSchemaDir(
        "ALTER TABLE coordinator_leases ADD COLUMN note TEXT; CREATE TABLE rooms (name TEXT);",
      );
      const migrated = await place.setup({ schemaDir });
      assert.deepEqual(migrated, { from: todaysVersion, to: todaysVersion + 1 });
      const after = await openOn(place, t, { schemaDir });
      assert.equal(await readSchemaVersion(after), todaysVersion + 1);
      const row = await after.read(({ db }) => db.selectFrom("workers").selectAll().execute());
      assert.deepEqual({ ...row[0] }, workerRow("w1"));
      await after.transaction(async ({ db }) => {
        await sql`UPDATE coordinator_leases SET note = 'it is there'`.execute(db);
      });
    });

    test("[ST52] a migration that fails changes nothing, and the next run goes on from there", async (t) => {
      const place = await fixture.createPlace();
      await place.setup();
      const broken = makeSchemaDir("CREATE TABLE half (x TEXT); CREATE TABLE half (x TEXT);");
      await assert.rejects(place.setup({ schemaDir: broken }));
      const store = await openOn(place, t);
      assert.equal(await readSchemaVersion(store), todaysVersion);
      const mended = makeSchemaDir("CREATE TABLE half (x TEXT);");
      assert.equal((await place.setup({ schemaDir: mended })).to, todaysVersion + 1);
    });

    test("[ST53] opening refuses a store without schema, with an older and with a newer one", async () => {
      const place = await fixture.createPlace();
      const newer = makeSchemaDir("CREATE TABLE a (x TEXT);");
      await assert.rejects(place.open(), { code: "schema_absent", hint: /capstan setup/ });
      await place.setup();
      const older = place.open({ schemaDir: newer });
      await assert.rejects(older, {
        code: "schema_older",
        hint: /capstan setup/,
        message: new RegExp(`version ${todaysVersion}.*needs ${todaysVersion + 1}`),
      });
      await place.setup({ schemaDir: newer });
      await assert.rejects(place.open(), {
        code: "schema_newer",
        message: new RegExp(`version ${todaysVersion + 1}.*up to ${todaysVersion}`),
      });
      await assert.rejects(place.setup(), { code: "schema_newer" });
    });
  });
}

interface Column {
  readonly name: string;
  readonly type: string;
}

function countOf(rows: readonly unknown[]): number {
  return rows.length;
}
