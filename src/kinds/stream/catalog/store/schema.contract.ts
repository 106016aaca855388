/** What the database itself refuses, whatever the program does: on both stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../../../ground/store/index.ts";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import { sinkDescriptors, sourceDescriptors } from "../../language/core/index.ts";
import { fragmentStates, queryStates } from "../core/states.ts";
import {
  addWorkers,
  openScripted,
  physical,
  query,
  type ScriptedCatalog,
  sink,
  source,
} from "../testing/scripted-catalog.ts";

/** A query `4` over a view's source `1`, its physical source `2` on w1, and a sink `3` on w2. */
async function openPopulated(fixture: StoreFixture, t: Parameters<typeof openScripted>[1]) {
  const scripted = await openScripted(fixture, t);
  await addWorkers(scripted.store, "w1", "w2", "w3");
  await scripted.run(
    source("bids"),
    physical("new:0", { placement: "w1" }),
    sink("hot", { placement: "w2" }),
    query("q", { logicalSources: ["new:0"], physicalSources: ["new:1"], sinks: ["new:2"] }),
    source("v", { sourceKind: "VIEW", definition: "SELECT ts FROM bids", uses: ["new:0"] }),
  );
  return scripted;
}

type Remove = (scripted: ScriptedCatalog) => Promise<unknown>;

const remove =
  (table: "logical_sources" | "physical_sources" | "sinks" | "queries" | "workers", key: string) =>
  async ({ store }: ScriptedCatalog): Promise<unknown> =>
    await store.catalogTransaction((tx) => tx.remove(table, key));

const referred: readonly (readonly [what: string, remove: Remove, codes: readonly string[]])[] = [
  ["a logical source with a physical one", remove("logical_sources", "1"), ["reference_violated"]],
  ["a physical source of a query", remove("physical_sources", "2"), ["reference_violated"]],
  ["a sink of a query", remove("sinks", "3"), ["reference_violated"]],
  ["a query with fragments", remove("queries", "4"), ["reference_violated"]],
  ["a worker with a source", remove("workers", "w1"), ["reference_violated", "worker_busy"]],
  ["a worker with a sink", remove("workers", "w2"), ["reference_violated", "worker_busy"]],
];

export function testSchema(fixture: StoreFixture): void {
  describe("what the database refuses", () => {
    test("[SC41] the tables of types and states have what the program knows", async (t) => {
      const { store } = await openScripted(fixture, t);
      const rows = await store.read(async ({ db }) => ({
        sources: await db.selectFrom("source_types").select("type as name").execute(),
        sinks: await db.selectFrom("sink_types").select("type as name").execute(),
        queries: await db.selectFrom("query_states").select("state as name").execute(),
        fragments: await db.selectFrom("query_fragment_states").select("state as name").execute(),
        workers: await db.selectFrom("worker_states").select("state as name").execute(),
      }));
      const sortedOf = (names: readonly string[]) => [...names].sort((a, b) => a.localeCompare(b));
      const found = Object.entries(rows).map(([table, all]) => [
        table,
        sortedOf(all.map(({ name }) => name)),
      ]);
      const typesOf = (all: readonly { readonly type: string }[]) =>
        sortedOf(all.map(({ type }) => type.toUpperCase()));
      assert.deepEqual(Object.fromEntries(found), {
        sources: typesOf(sourceDescriptors),
        sinks: typesOf(sinkDescriptors),
        queries: sortedOf(queryStates),
        fragments: sortedOf(fragmentStates),
        workers: ["ACTIVE", "UNREACHABLE"],
      });
    });

    test("[SC41] rows of types and states that do not exist are refused", async (t) => {
      const { store } = await openPopulated(fixture, t);
      const patches = [
        (to: Store) =>
          to.catalogTransaction((tx) =>
            tx.update("physical_sources", "2", { source_type: "KAFKA" }),
          ),
        (to: Store) =>
          to.catalogTransaction((tx) => tx.update("sinks", "3", { sink_type: "KAFKA" })),
        (to: Store) =>
          to.catalogTransaction((tx) => tx.update("queries", "4", { state: "LOST" as "FAILED" })),
        (to: Store) =>
          to.catalogTransaction((tx) => tx.update("workers", "w3", { state: "GONE" as "ACTIVE" })),
      ];
      for (const patch of patches) {
        await assert.rejects(patch(store), { code: "reference_violated" });
      }
    });

    test("[SC42] no row goes that another refers to", async (t) => {
      const scripted = await openPopulated(fixture, t);
      for (const [what, attempt, codes] of referred) {
        await assert.rejects(attempt(scripted), ({ code }: { code: string }) => {
          assert.ok(codes.includes(code), `${what}: ${code}`);
          return true;
        });
      }
      assert.equal((await scripted.catalog.read("query", {})).length, 1);
    });

    test("[SC42] the slots used of a worker are from 0 to what it has", async (t) => {
      const { store } = await openPopulated(fixture, t);
      for (const slots_used of [-1, 1_001]) {
        const set = store.transaction(({ db }) =>
          db.updateTable("stream_workers").set({ slots_used }).execute(),
        );
        await assert.rejects(set, { code: "bad_request" });
      }
    });

    test("[SC42] a link leads from one worker that is there to another one", async (t) => {
      const { store } = await openPopulated(fixture, t);
      const link = (src_worker_id: string, dst_worker_id: string) =>
        store.transaction(({ db }) =>
          db.insertInto("network_links").values({ src_worker_id, dst_worker_id }).execute(),
        );
      await assert.rejects(link("w1", "w1"), { code: "bad_request" });
      await assert.rejects(link("w1", "nobody"), { code: "reference_violated" });
      await link("w1", "w3");
      const dropped = store.catalogTransaction((tx) => tx.remove("workers", "w3"));
      await assert.rejects(dropped);
    });
  });
}
