/** Queries, sources and sinks that others take the place of, on both stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import type { ChangeAnswer, QueryBody } from "../core/bodies.ts";
import { hasEnded } from "../core/states.ts";
import { endQuery } from "../testing/end-query.ts";
import {
  addWorkers,
  drop,
  openScripted,
  physical,
  query,
  type ScriptedCatalog,
  sink,
  source,
} from "../testing/scripted-catalog.ts";
import { moveFragment, moveQuery } from "./move-rows.ts";
import { findQuery } from "./read-rows.ts";

const uses = { logicalSources: ["1"], physicalSources: ["2"], sinks: ["3"] };

/** Two workers, a source, a physical one, a sink, and the query q over them: ids 1, 2, 3 and 4. */
async function open(fixture: StoreFixture, t: Parameters<typeof openScripted>[1], slots = 10) {
  const scripted = await openScripted(fixture, t);
  await addWorkers(scripted.store, "w1", "w2");
  await scripted.store.transaction(async ({ db }) => {
    for (const worker_id of ["w1", "w2"]) {
      const row = { worker_id, label: null, slots, slots_used: 0 };
      await db.insertInto("stream_workers").values(row).execute();
    }
  });
  await scripted.run(
    source("bids"),
    physical("new:0"),
    sink("hot", { config: { FILE_PATH: "a" } }),
    query("q", { logicalSources: ["new:0"], physicalSources: ["new:1"], sinks: ["new:2"] }),
  );
  return scripted;
}

const replacing = (more: Parameters<typeof query>[1] = {}) =>
  query("q", { replaces: true, ...uses, ...more });

/** A bundle that replaces everything behind q: its new rows are 5, 6 and 7, and q is 8. */
const everything = [
  drop("query", "q", "SOFT"),
  drop("sink", "hot"),
  drop("physical source", "2"),
  drop("logical source", "bids"),
  source("bids"),
  physical("new:4"),
  sink("hot", { config: { FILE_PATH: "b" } }),
  query("q", { logicalSources: ["new:4"], physicalSources: ["new:5"], sinks: ["new:6"] }),
] as const;

async function queriesOf({ catalog }: ScriptedCatalog): Promise<readonly QueryBody[]> {
  return (await catalog.read("query", {})) as readonly QueryBody[];
}

async function slots({ store }: ScriptedCatalog): Promise<Readonly<Record<string, unknown>>> {
  return await store.read(async ({ db }) => {
    const used = await db
      .selectFrom("stream_workers")
      .select(["worker_id", "slots_used"])
      .orderBy("worker_id")
      .execute();
    const held = await db
      .selectFrom("query_fragments")
      .select(["fragment_id"])
      .where("holds_slot", "=", 1)
      .orderBy("fragment_id")
      .execute();
    return {
      used: used.map(({ slots_used }) => slots_used),
      held: held.map(({ fragment_id }) => fragment_id),
    };
  });
}

/** Every row of these tables, with what took its place. */
async function superseded({ store }: ScriptedCatalog): Promise<readonly string[]> {
  return await store.read(async ({ db }) => {
    const sinks = await db.selectFrom("sinks").selectAll().execute();
    const physicals = await db.selectFrom("physical_sources").selectAll().execute();
    const logicals = await db.selectFrom("logical_sources").selectAll().execute();
    const all = [
      ...sinks.map((row) => [row.sink_id, row.superseded_by]),
      ...physicals.map((row) => [row.physical_source_id, row.superseded_by]),
      ...logicals.map((row) => [row.source_id, row.superseded_by]),
    ];
    return all.map(([id, by]) => `${id}:${by ?? "-"}`).toSorted(inOrder);
  });
}

function replacedBy(answers: readonly unknown[]): unknown {
  const answer = answers.at(-1) as Extract<ChangeAnswer, { readonly kind: "created" }>;
  return answer.replaced;
}

export function testReplacements(fixture: StoreFixture): void {
  describe("replacements", () => {
    test("[SC33] a query takes the place of another one: it has the name, waits, and says so", async (t) => {
      const scripted = await open(fixture, t);
      const answers = await scripted.run(replacing());
      assert.deepEqual(replacedBy(answers), { query_id: "4", state: "PENDING" });
      const [older, newer] = await queriesOf(scripted);
      assert.deepEqual(
        [older?.desired_state, older?.stop_mode, older?.superseded_by, older?.name],
        ["STOPPED", "HARD", "5", "q"],
      );
      assert.deepEqual(
        [newer?.state, newer?.desired_state, newer?.superseded_by, newer?.epoch],
        ["PENDING", "RUNNING", null, 1],
      );
      assert.match(newer?.state_reason ?? "", /^waits until the query 4, which it replaces, is/);
      const [named] = (await scripted.catalog.read("query", {
        byName: "q",
      })) as readonly QueryBody[];
      assert.equal(named?.query_id, "5");
      await assert.rejects(scripted.run(query("q")), { code: "AlreadyExists" });
      await endQuery(scripted, "4");
      const [left, ...others] = await queriesOf(scripted);
      assert.equal(others.length, 0);
      assert.match(left?.state_reason ?? "", /^the query 4, which it replaces, is gone/);
    });

    test("[SC33] without a query of the name it is only created", async (t) => {
      const scripted = await open(fixture, t);
      const answers = await scripted.run(query("other", { replaces: true, ...uses }));
      assert.equal(replacedBy(answers), undefined);
    });

    test("[SC33] dropping and creating the name in one bundle is a replacement, by name and by id", async (t) => {
      const scripted = await open(fixture, t);
      const answers = await scripted.run(drop("query", "q", "SOFT"), query("q", uses));
      assert.deepEqual(replacedBy(answers), { query_id: "4", state: "PENDING" });
      assert.equal((await queriesOf(scripted))[0]?.stop_mode, "SOFT");
      const again = await scripted.run(drop("query", "5"), query("Q", uses));
      assert.deepEqual(replacedBy(again), { query_id: "5", state: "PENDING" });
    });

    test("[SC33] what is dropped already, failed, paused or replaced is replaced as well", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(drop("query", "q", "SOFT"));
      assert.deepEqual(replacedBy(await scripted.run(replacing())), {
        query_id: "4",
        state: "PENDING",
      });
      assert.equal((await queriesOf(scripted))[0]?.stop_mode, "SOFT", "as it was asked for");
      assert.deepEqual(replacedBy(await scripted.run(replacing())), {
        query_id: "5",
        state: "PENDING",
      });
      const chain = (await queriesOf(scripted)).map((row) => [row.query_id, row.superseded_by]);
      assert.deepEqual(chain, [
        ["4", "5"],
        ["5", "6"],
        ["6", null],
      ]);
      await scripted.store.catalogTransaction(async (tx) => {
        const row = await findQuery(tx, "q");
        assert(row !== undefined);
        await moveQuery(tx, await moveQuery(tx, row, "TERMINATING", {}), "FAILED", {});
      });
      assert.deepEqual(replacedBy(await scripted.run(replacing())), {
        query_id: "6",
        state: "FAILED",
      });
    });

    test("[SC33] a drop of the name is of the newest query; an older one is named by its id", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(drop("query", "q", "SOFT"), query("q", uses));
      await scripted.run(drop("query", "q", "SOFT"));
      await scripted.run(drop("query", "4", "HARD"));
      const wanted = (await queriesOf(scripted)).map((row) => [row.query_id, row.stop_mode]);
      assert.deepEqual(wanted, [
        ["4", "HARD"],
        ["5", "SOFT"],
      ]);
      const refused = { code: "conflict", message: /q is being dropped/ };
      const pause = { kind: "setDesired", query: "4", desired: "PAUSED" } as const;
      await assert.rejects(scripted.run(pause), refused);
    });

    test("[SC2, SC33] it gets the slots of the query before it, and those only once", async (t) => {
      const scripted = await open(fixture, t, 1);
      await scripted.run(replacing());
      assert.deepEqual(await slots(scripted), { used: [1, 1], held: ["4/f0", "4/f1"] });
      await assert.rejects(scripted.run(query("other")), { code: "InsufficientCapacity" });
      await scripted.run(replacing());
      for (const fragment of await fragmentsOf(scripted, "5")) {
        await scripted.store.catalogTransaction((tx) => moveFragment(tx, fragment, "STOPPED"));
      }
      assert.deepEqual(await slots(scripted), { used: [1, 1], held: ["4/f0", "4/f1"] });
      await endQuery(scripted, "4");
      assert.deepEqual(await slots(scripted), { used: [1, 1], held: ["6/f0", "6/f1"] });
    });

    test("[SC2, SC33] a successor that needs more takes the rest at once, or is refused", async (t) => {
      const scripted = await open(fixture, t, 2);
      const placement = ["f0", "f1", "f2"].map((fragment) => ({
        ...{ fragment, workerId: "w1", isPinned: false },
      }));
      await assert.rejects(scripted.run(replacing({ placement })), {
        code: "InsufficientCapacity",
      });
      assert.equal((await queriesOf(scripted)).length, 1, "nothing is left of it");
      assert.equal((await queriesOf(scripted))[0]?.desired_state, "RUNNING");
      await scripted.run(replacing({ placement: placement.slice(0, 2) }));
      assert.deepEqual(await slots(scripted), { used: [2, 1], held: ["4/f0", "4/f1", "5/f1"] });
      await endQuery(scripted, "4");
      assert.deepEqual(await slots(scripted), { used: [2, 0], held: ["5/f0", "5/f1"] });
    });

    test("[SC34] a bundle replaces sources and sinks with all queries that use them", async (t) => {
      const scripted = await open(fixture, t);
      const answers = await scripted.run(...everything);
      assert.deepEqual(replacedBy(answers), { query_id: "4", state: "PENDING" });
      assert.deepEqual(await superseded(scripted), ["1:5", "2:2", "3:7", "5:-", "6:-", "7:-"]);
      const { catalog } = scripted;
      assert.equal((await catalog.read("logical source", {})).length, 1);
      assert.equal((await catalog.read("sink", {})).length, 1);
      const [, newer] = await queriesOf(scripted);
      const detail = await catalog.query(newer?.query_id ?? "");
      assert.deepEqual(detail.physical_sources, ["6"]);
      await endQuery(scripted, "4");
      assert.deepEqual(await superseded(scripted), ["5:-", "6:-", "7:-"]);
    });

    test("[SC34] what is replaced goes with the last query that uses it", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(query("other", uses));
      const both = [drop("query", "other"), ...everything.slice(0, 1), drop("sink", "hot")];
      await scripted.run(...both, sink("hot"));
      assert.ok((await superseded(scripted)).includes("3:6"));
      await endQuery(scripted, "4");
      assert.ok((await superseded(scripted)).includes("3:6"), "5 uses it");
      await endQuery(scripted, "5");
      assert.deepEqual(await superseded(scripted), ["1:-", "2:-", "6:-"]);
    });

    test("[SC6, SC34] a bundle that leaves a user is refused, names it, and leaves nothing", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(query("other", uses));
      const before = await superseded(scripted);
      await assert.rejects(scripted.run(...everything), {
        code: "ReferencedQueryExists",
        message: "the sink hot is used by the query other, which is PENDING",
        hint: "Drop what uses it first: DROP QUERY other.",
      });
      assert.deepEqual(await superseded(scripted), before);
      const wanted = (await queriesOf(scripted)).map(({ desired_state }) => desired_state);
      assert.deepEqual(wanted, ["RUNNING", "RUNNING"]);
      const view = source("v", { sourceKind: "VIEW", definition: "SELECT 1", uses: ["1"] });
      await scripted.run(view, drop("query", "other"));
      await endQuery(scripted, "other");
      await assert.rejects(scripted.run(...everything), {
        code: "ReferencedSourceExists",
        message: "the logical source bids is used by the view v",
      });
      const physicals = everything.filter(
        (change) => !("object" in change) || change.object !== "physical source",
      );
      await scripted.run(drop("view", "v"));
      await assert.rejects(scripted.run(...physicals.slice(0, 3), sink("hot")), {
        code: "ReferencedPhysicalSourceExists",
      });
    });

    test("[SC6] a drop that stands alone is refused while the query goes, and says to wait", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(drop("query", "q"));
      await assert.rejects(scripted.run(drop("sink", "hot")), {
        code: "ReferencedQueryExists",
        hint: /^Try again when the query is gone/,
      });
    });

    test("[SC34] a successor may be dropped before what it took the place of is gone", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(drop("query", "q"), drop("sink", "hot"), sink("hot"));
      await scripted.run(drop("sink", "hot"));
      assert.deepEqual(await superseded(scripted), ["1:-", "2:-", "3:3"]);
      await scripted.run(sink("hot"));
      await endQuery(scripted, "4");
      assert.deepEqual(await superseded(scripted), ["1:-", "2:-", "6:-"]);
    });

    test("[SC34] secrets of what is replaced stay for as long as its queries do", async (t) => {
      const scripted = await open(fixture, t);
      await scripted.run(sink("secret", { type: "TCP", config: { SOCKET_HOST: "h" } }));
      const put = { owner_id: "5", place: "TOKEN", value: "top-secret" };
      await scripted.store.transaction(({ db }) =>
        db.insertInto("stream_secrets").values(put).execute(),
      );
      await scripted.run(query("user", { sinks: ["5"] }));
      await scripted.run(drop("query", "user"), drop("sink", "secret"), sink("secret"));
      const secrets = () =>
        scripted.store.read(({ db }) => db.selectFrom("stream_secrets").selectAll().execute());
      assert.equal((await secrets()).length, 1);
      await endQuery(scripted, "6");
      assert.equal((await secrets()).length, 0);
    });
  });
}

async function fragmentsOf({ store }: ScriptedCatalog, queryId: string) {
  const rows = await store.read(({ db }) =>
    db.selectFrom("query_fragments").selectAll().where("query_id", "=", queryId).execute(),
  );
  return rows.filter(({ state }) => !hasEnded(state));
}

function inOrder(one: string, other: string): number {
  return one < other ? -1 : 1;
}
