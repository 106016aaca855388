/** Requests about checkpoints, on both stores. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Store } from "../../../../ground/store/index.ts";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import type { Manifest } from "../../run/core/index.ts";
import type { QueryState } from "../core/states.ts";
import type { StoredPlan } from "../core/stored-plan.ts";
import type { StatementAnswer } from "../service/stream-catalog.ts";
import { endQuery } from "../testing/end-query.ts";
import { openPlanned } from "../testing/planned-catalog.ts";
import { recordRow } from "../testing/record-row.ts";
import {
  addWorkers,
  drop,
  never,
  openScripted,
  query,
  statementOf,
} from "../testing/scripted-catalog.ts";
import { moveQuery } from "./move-rows.ts";
import { findQuery } from "./read-rows.ts";

const ask = { kind: "checkpointQuery", query: "q" } as const;

async function move(store: Store, ...states: readonly QueryState[]): Promise<void> {
  for (const state of states) {
    await store.catalogTransaction(async (tx) => {
      const row = await findQuery(tx, "q");
      assert(row !== undefined);
      await moveQuery(tx, row, state, {});
    });
  }
}

function numberOf(answers: readonly StatementAnswer[]): number | null {
  const [answer] = answers;
  assert(answer?.kind === "savepoint");
  return answer.checkpoint;
}

export function testSavepoints(fixture: StoreFixture): void {
  describe("savepoints", () => {
    const open = async (t: Parameters<typeof openScripted>[1]) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1", "w2");
      await scripted.run(query("q"));
      const kinds = async () =>
        (await scripted.catalog.checkpoints("q")).map(({ checkpoint, kind }) => [checkpoint, kind]);
      return { ...scripted, kinds };
    };

    test("[SC50] the answer has the number when the savepoint is complete", async (t) => {
      const { store, run, kinds } = await open(t);
      await move(store, "DEPLOYING", "RUNNING");
      const answers = run(ask);
      for (;;) {
        const row = await store.read((tx) => findQuery(tx, "q"));
        if (row?.savepoints_asked === 1) break;
      }
      await recordRow(store, "1", 6);
      await recordRow(store, "1", 7, 1);
      assert.equal(numberOf(await answers), 7);
      assert.deepEqual(await kinds(), [
        [7, "SAVEPOINT"],
        [6, "CHECKPOINT"],
      ]);
    });

    test("[SC50] one that is not taken in time has no number yet", async (t) => {
      const { catalog } = await open(t);
      const statements = [statementOf(ask)];
      const request = { statements, savepointWaitMsMax: 0, requestId: "r" };
      assert.equal(numberOf(await catalog.execute(request, never)), null);
      assert.equal(numberOf(await catalog.execute(request, never)), null, "the first answer");
    });

    test("[SC50] the newest checkpoint of a query that rests becomes the savepoint", async (t) => {
      const { store, run, kinds } = await open(t);
      await move(store, "DEPLOYING", "RUNNING", "TERMINATING", "FAILED");
      await assert.rejects(run(ask), { code: "conflict", message: /FAILED and has no checkpoint/ });
      await recordRow(store, "1", 3);
      assert.equal(numberOf(await run(ask)), 3);
      assert.deepEqual(await kinds(), [[3, "SAVEPOINT"]]);
    });

    test("[SC50] a query has twenty savepoints at most", async (t) => {
      const { store, run } = await open(t);
      for (let nth = 1; nth <= 20; nth += 1) await recordRow(store, "1", nth, nth);
      await assert.rejects(run(ask), { code: "conflict", message: /has 20 savepoints/ });
      await run({ kind: "dropCheckpoint", query: "q", checkpoint: 4, ifExists: false });
      const [answer] = await run(ask);
      assert(answer?.kind === "savepoint" && answer.done === "asked");
    });

    test("[SC50] what is being dropped, and what does not exist, has no savepoint", async (t) => {
      const { run } = await open(t);
      await run(drop("query", "q"));
      await assert.rejects(run(ask), { code: "conflict", message: /is being dropped/ });
      await assert.rejects(run({ ...ask, query: "r" }), { code: "DoesNotExist" });
    });

    test("[SC50, SC51] a savepoint is dropped; any other checkpoint goes by itself", async (t) => {
      const { store, run, kinds, catalog } = await open(t);
      await recordRow(store, "1", 6, 1);
      await recordRow(store, "1", 7);
      const dropped = { kind: "dropCheckpoint", query: "q", ifExists: false } as const;
      await assert.rejects(run({ ...dropped, checkpoint: 7 }), { code: "conflict" });
      await run({ ...dropped, checkpoint: 6 });
      assert.deepEqual(await kinds(), [
        [7, "CHECKPOINT"],
        [6, "CHECKPOINT"],
      ]);
      const [none] = await run({ ...dropped, checkpoint: 8 });
      assert(none?.kind === "savepoint" && none.done === "none");
      await assert.rejects(run({ ...dropped, query: "r", checkpoint: 8 }), {
        code: "DoesNotExist",
      });
      await endQuery({ store }, "q");
      assert.deepEqual(await catalog.checkpoints(undefined), []);
    });

    const openStarted = async (t: TestContext) => {
      const [planned] = await openPlanned(fixture, t);
      assert(planned !== undefined);
      await planned.run(
        "CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, a UINT64 NOT NULL)",
        `CREATE PHYSICAL SOURCE FOR bids TYPE Http SET(1 AS "SOURCE".HTTP_PORT, 'x' AS "SOURCE".TOKEN)`,
        `CREATE SINK hot TYPE File SET('hot.csv' AS "SINK".FILE_PATH)`,
        `CREATE SINK cold TYPE File SET('cold.csv' AS "SINK".FILE_PATH)`,
        "CREATE SINK none TYPE Void",
        `CREATE QUERY q AS ${counting} INTO hot`,
      );
      const { store, catalog } = planned;
      const q = (await catalog.query("q")).query_id;
      const [plan] = await store.read(({ db }) =>
        db.selectFrom("query_plans").select("plan").execute(),
      );
      const { nodes } = (JSON.parse(plan?.plan ?? "") as StoredPlan).plan;
      const placeOf = (kind: string) => String(nodes.find(({ op }) => op.kind === kind)?.id);
      const positions = { [placeOf("source")]: "10", [placeOf("sink")]: "55" };
      const objects = [{ path: "a", sizeBytes: 10, crc32: 1 }];
      await recordRow(store, q, 7, 1, [{ fragment: "f0", nodes: [], positions, objects }]);
      const started = async (name: string) => {
        const { query_id } = await catalog.query(name);
        const row = await store.read(({ db }) =>
          db
            .selectFrom("query_checkpoints")
            .selectAll()
            .where("query_id", "=", query_id)
            .orderBy("checkpoint", "desc")
            .executeTakeFirstOrThrow(),
        );
        const { fragments } = JSON.parse(row.manifest) as Manifest;
        return [row.checkpoint, fragments.map((each) => Object.values(each.positions))];
      };
      return { planned, started, q };
    };

    test("[SC52] a query begins with the state of a checkpoint, and its own sinks", async (t) => {
      const { planned, started, q } = await openStarted(t);
      const [answer] = await planned.run(
        `CREATE QUERY q2 AS ${counting} INTO cold FROM CHECKPOINT 7 FOR q`,
      );
      assert(answer?.kind === "created");
      assert.deepEqual(answer.from, { query_id: q, checkpoint: 7 });
      assert.deepEqual(await started("q2"), [7, [["10"]]]);
      await planned.run(`CREATE QUERY q3 AS ${counting} INTO none FROM CHECKPOINT 7 FOR q2`);
      const families = await planned.store.read(({ db }) =>
        db.selectFrom("query_plans").select("state_family").orderBy("query_id").execute(),
      );
      assert.deepEqual(
        families.map(({ state_family }) => state_family),
        [null, q, q],
      );
    });

    test("[SC52] the sinks of the query that it replaces go on where they were", async (t) => {
      const { planned, started } = await openStarted(t);
      await planned.run(`CREATE OR REPLACE QUERY q AS ${counting} INTO hot FROM CHECKPOINT 7`);
      assert.deepEqual(await started("q"), [7, [["10", "55"]]]);
    });

    test("[SC52] what does not fit is refused, and says why", async (t) => {
      const { planned } = await openStarted(t);
      const other = "SELECT a FROM bids WHERE a > UINT64(2)";
      const refusals: readonly (readonly [string, string, RegExp])[] = [
        [
          `${other} INTO hot FROM CHECKPOINT 7`,
          "conflict",
          /the checkpoint 7 of the query q .*differ in their step/,
        ],
        [
          `${counting} INTO hot SET(2 AS "QUERY".PARALLELISM) FROM CHECKPOINT 7`,
          "conflict",
          /parallelism of 1/,
        ],
        [`${counting} INTO hot FROM CHECKPOINT 8`, "DoesNotExist", /has no checkpoint 8/],
        [`${counting} INTO hot FROM CHECKPOINT 7 FOR r`, "DoesNotExist", /no query r/],
      ];
      for (const [text, code, message] of refusals) {
        const refused = planned.run(`CREATE OR REPLACE QUERY q AS ${text}`);
        await assert.rejects(refused, { code, message }, text);
      }
      const unnamed = planned.run(`${counting} INTO hot FROM CHECKPOINT 7`);
      await assert.rejects(unnamed, {
        code: "BinderError",
        message: /does not say of which query/,
      });
      assert.equal((await planned.catalog.read("query", {})).length, 1);
    });

    test("[SC53] a paused query goes on from an older checkpoint, and no other does", async (t) => {
      const { planned, started, q } = await openStarted(t);
      const back = "RESUME QUERY q FROM CHECKPOINT 7";
      await assert.rejects(planned.run(back), {
        code: "conflict",
        message: /PENDING; only a paused/,
      });
      await move(planned.store, "DEPLOYING", "RUNNING", "STOPPING", "PAUSED");
      await recordRow(planned.store, q, 9);
      await planned.run(back);
      assert.deepEqual(await started("q"), [10, [["10", "55"]]]);
      const { desired_state } = await planned.catalog.query("q");
      assert.equal(desired_state, "RUNNING");
    });
  });
}

const counting = "SELECT a FROM bids WHERE a > UINT64(1)";
