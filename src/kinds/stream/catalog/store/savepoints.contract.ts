/** Requests about checkpoints, on both stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../../../ground/store/index.ts";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import type { QueryState } from "../core/states.ts";
import type { StatementAnswer } from "../service/stream-catalog.ts";
import { endQuery } from "../testing/end-query.ts";
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
  });
}
