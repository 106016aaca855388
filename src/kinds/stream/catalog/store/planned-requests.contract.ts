/** Statements that are planned by snapshots of the store, and stored. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LakeStore } from "../../../../data/lake/index.ts";
import { create, idColumn } from "../../../../data/lake/testing/open-catalog.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import { endQuery } from "../testing/end-query.ts";
import { openPlanned, type PlannedCatalog } from "../testing/planned-catalog.ts";

async function open(fixture: StoreFixture, t: TestContext): Promise<PlannedCatalog> {
  const [catalog] = await openPlanned(fixture, t);
  return catalog ?? assert.fail("one was asked for");
}

const definitions = [
  "CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, auction INT32)",
  `CREATE PHYSICAL SOURCE FOR bids TYPE File SET('a.csv' AS "SOURCE".FILE_PATH, 'w2' AS "SOURCE"."HOST")`,
  "CREATE VIEW v AS SELECT auction, ts FROM bids",
  "CREATE SINK hot TYPE Void",
];

export function testPlannedRequests(fixture: StoreFixture): void {
  describe("statements, from their texts to rows", () => {
    test("[SC20] what is stored is what the next statement is planned by", async (t) => {
      const { store, run, snapshot } = await open(fixture, t);
      await run(...definitions);
      await run("CREATE QUERY q AS SELECT auction FROM v INTO hot");
      const [plan, fragments, sources] = await store.read(async ({ db }) => [
        await db.selectFrom("query_plans").selectAll().executeTakeFirstOrThrow(),
        await db.selectFrom("query_fragments").selectAll().execute(),
        await db.selectFrom("query_logical_sources").selectAll().execute(),
      ]);
      assert.equal(plan.statement, "CREATE QUERY q AS SELECT auction FROM v INTO hot");
      assert.deepEqual(
        fragments.map(({ fragment, worker_id, is_pinned }) => [fragment, worker_id, is_pinned]),
        [["f0", "w2", 1]],
      );
      assert.equal(sources.length, 2);
      const { topology } = await snapshot();
      assert.deepEqual(
        topology.workers.map(({ workerId, slotsUsed }) => [workerId, slotsUsed]),
        [
          ["w1", 0],
          ["w2", 1],
        ],
      );
      await assert.rejects(run("CREATE SINK hot TYPE Void"), { code: "AlreadyExists" });
      await run("DROP QUERY q", "CREATE SINK cold TYPE Void");
      await run("SELECT auction FROM bids INTO cold");
    });

    test("[SC34] a column is added to a source with a running query, in one bundle", async (t) => {
      const { store, run, snapshot } = await open(fixture, t);
      await run(...definitions);
      await run("CREATE QUERY q AS SELECT auction FROM v INTO hot");
      const physical = (await snapshot()).physicalSources[0]?.physical_source_id;
      const bundle = [
        "DROP VIEW v",
        `DROP PHYSICAL SOURCE ${physical}`,
        "DROP LOGICAL SOURCE bids",
        "CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, auction INT32, price FLOAT64)",
        ...definitions.slice(1, 3),
      ];
      const refused = { code: "ReferencedQueryExists", message: /used by the query q/ };
      await assert.rejects(run(...bundle), refused);
      const select = "AS SELECT auction, price FROM bids WHERE price > FLOAT64(1) INTO hot";
      await run(...bundle, `CREATE OR REPLACE QUERY q ${select}`);
      assert.deepEqual(
        (await snapshot()).logicalSources.map(({ name }) => name),
        ["bids", "v"],
      );
      const rows = await store.read(({ db }) =>
        db.selectFrom("logical_sources").select(["name", "superseded_by"]).execute(),
      );
      assert.equal(rows.filter(({ superseded_by }) => superseded_by !== null).length, 2);
      const [older, newer] = await store.read(({ db }) =>
        db.selectFrom("queries").select("query_id").orderBy("created_at_ms").execute(),
      );
      await endQuery({ store }, older?.query_id ?? "");
      const left = await store.read(({ db }) =>
        db.selectFrom("logical_sources").select("superseded_by").execute(),
      );
      assert.deepEqual(
        left.map(({ superseded_by }) => superseded_by),
        [null, null],
      );
      assert.notEqual(newer?.query_id, undefined);
    });

    test("[SC80] a worker of an older version gets no fragments, and the refusal says why", async (t) => {
      const { store, run, silent } = await open(fixture, t);
      await run("CREATE LOGICAL SOURCE s(a INT8)", "CREATE SINK k TYPE Void");
      await run(`CREATE PHYSICAL SOURCE FOR s TYPE File SET('a' AS "SOURCE".FILE_PATH)`);
      silent.add("w1");
      for (const name of ["a", "b", "c"])
        await run(`CREATE QUERY ${name} AS SELECT a FROM s INTO k`);
      const fragments = await store.read(({ db }) =>
        db.selectFrom("query_fragments").select("worker_id").distinct().execute(),
      );
      assert.deepEqual(
        fragments.map(({ worker_id }) => worker_id),
        ["w2"],
      );
      await run(`CREATE SINK there TYPE Void SET('w1' AS "SINK"."HOST")`);
      await assert.rejects(run("SELECT a FROM s INTO there"), {
        code: "PlacementError",
        message:
          /^the sink there is placed on w1, which takes no fragments: its Capstan \S+ and this one have no version of continuous queries in common; start the same on both$/,
      });
      silent.add("w2");
      const nobody = /^no worker takes fragments \(w1: its Capstan .*; w2: its Capstan/;
      await assert.rejects(run("SELECT a FROM s INTO k"), { message: nobody });
    });

    test("[SC82] one file is written by one query at a time", async (t) => {
      const { store, run } = await open(fixture, t);
      await run(...definitions);
      await run(`CREATE SINK out TYPE File SET('out.csv' AS "SINK".FILE_PATH)`);
      const select = "SELECT auction FROM bids INTO";
      const file = (path: string, more = "") => `File('${path}' AS "SINK".FILE_PATH${more})`;
      await run(`CREATE QUERY q AS ${select} out`);
      const taken = {
        code: "PlacementError",
        message: /^the file out.csv of the sink .* is written by the query q, which is PENDING$/,
        hint: "Give each query a file of its own, or DROP QUERY q first.",
      };
      for (const sink of ["out", file("out.csv"), file("./out.csv"), `hot, ${file("out.csv")}`]) {
        await assert.rejects(run(`CREATE QUERY r AS ${select} ${sink}`), taken);
      }
      const both = [
        `CREATE QUERY a AS ${select} ${file("b")}`,
        `CREATE QUERY b AS ${select} ${file("b")}`,
      ];
      await assert.rejects(run(...both), { message: /the file b of .* by the query a/ });
      await assert.rejects(run(`${select} ${file("b")}, ${file("b")}`), { message: /twice/ });
      await run(`CREATE QUERY other AS ${select} ${file("other.csv")}`);
      await run(`CREATE OR REPLACE QUERY q AS ${select} out`);
      const place = (worker: string) => file("placed.csv", `, '${worker}' AS "SINK"."HOST"`);
      await run(`CREATE QUERY one AS ${select} ${place("w1")}`);
      await run(`CREATE QUERY two AS ${select} ${place("w2")}`);
      await run("DROP QUERY other");
      const going = { hint: /try again when that query is gone/ };
      await assert.rejects(run(`${select} ${file("other.csv")}`), going);
      await endQuery({ store }, "other");
      await run(`${select} ${file("other.csv")}`);
    });

    test("[SC33] where all slots are taken, a query is replaced by those of the one before it", async (t) => {
      const { store, run } = await open(fixture, t);
      await run(...definitions);
      await run("CREATE QUERY q AS SELECT auction FROM v INTO hot");
      await store.transaction(({ db }) =>
        db.updateTable("stream_workers").set({ slots: 1 }).execute(),
      );
      const select = "AS SELECT auction FROM bids INTO hot";
      await assert.rejects(run(`CREATE QUERY r ${select}`), { code: "InsufficientCapacity" });
      await run(`CREATE OR REPLACE QUERY q ${select}`);
      await run("DROP QUERY q", `CREATE QUERY q ${select}`);
    });

    test("[SC21] a snapshot has the definitions of its version, read once", async (t) => {
      const { run, snapshot } = await open(fixture, t);
      const empty = await snapshot();
      assert.deepEqual(empty.logicalSources, []);
      assert.equal((await snapshot()).logicalSources, empty.logicalSources);
      await run(...definitions);
      const after = await snapshot();
      assert.ok(after.version > empty.version);
      assert.deepEqual(
        after.logicalSources.map(({ name, kind }) => [name, kind]),
        [
          ["bids", "LOGICAL"],
          ["v", "VIEW"],
        ],
      );
      assert.deepEqual(
        [after.physicalSources.length, after.sinks.length, after.topology.workers.length],
        [1, 1, 2],
      );
    });

    test("[SC6] the tables of the lake are those of the same moment", async (t) => {
      const { store, run, snapshot } = await open(fixture, t);
      assert.deepEqual((await snapshot()).tables, []);
      const lake = new LakeStore({ store, prng: createPrng("lake") });
      const column = { ...idColumn, name: "auction", type: "INTEGER", nullable: true };
      await lake.commit({
        ...{ readSnapshot: (await lake.current()).snapshot, token: "t", author: "", message: "" },
        changes: [create("results", { columns: [column] })],
      });
      const { tables = [] } = await snapshot();
      assert.deepEqual(
        tables.map(({ name, schema }) => [name, schema]),
        [["results", [{ name: "auction", type: { name: "INT32", nullable: true } }]]],
      );
      await run(...definitions);
      await run(`CREATE SINK stored TYPE Lake SET('results' AS "SINK"."TABLE")`);
      await run("SELECT auction FROM bids INTO stored");
      const rows = await store.read(({ db }) =>
        db.selectFrom("query_lake_tables").selectAll().execute(),
      );
      assert.deepEqual(
        rows.map(({ table_id, writes }) => [table_id, writes]),
        [[tables[0]?.tableId, 1]],
      );
    });
  });
}
