/** Every request with its filters, answers and refusals, on both stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import type { Settings } from "../../language/core/index.ts";
import type { ChangeAnswer, PhysicalSourceBody, QueryBody } from "../core/bodies.ts";
import type { CatalogChange, CatalogQuestion, ShowFilter } from "../core/changes.ts";
import type { QueryRow } from "../core/tables.ts";
import { createLakeGuard } from "../statements/lake-guard.ts";
import { endQuery } from "../testing/end-query.ts";
import {
  addWorkers,
  drop,
  never,
  openScripted,
  physical,
  query,
  type ScriptedCatalog,
  sink,
  source,
  statementOf,
  worker,
} from "../testing/scripted-catalog.ts";
import { moveFragment, moveQuery } from "./move-rows.ts";
import { findQuery } from "./read-rows.ts";
import { readStoredPlan } from "./stored-plans.ts";

type Object = Extract<CatalogQuestion, { readonly kind: "show" }>["object"];

async function namesOf(
  { catalog }: ScriptedCatalog,
  object: Object,
  filter: ShowFilter = {},
): Promise<readonly string[]> {
  const rows: readonly object[] = await catalog.read(object, filter);
  const fieldsOf = (row: object) => row as Readonly<Record<string, unknown>>;
  return rows.map(fieldsOf).map((row) => {
    const { name, physical_source_id, worker_id } = row;
    return String(name ?? physical_source_id ?? worker_id);
  });
}

/** Two workers, a source with a physical one, a sink, and a query over them. Ids 1, 2, 3 and 4. */
async function openPopulated(fixture: StoreFixture, t: Parameters<typeof openScripted>[1]) {
  const scripted = await openScripted(fixture, t);
  await addWorkers(scripted.store, "w1", "w2");
  await scripted.run(
    source("bids"),
    physical("new:0", { placement: "w1" }),
    sink("hot", { placement: "host-w2" }),
    query("q", {
      logicalSources: ["new:0"],
      physicalSources: ["new:1"],
      sinks: ["new:2"],
    }),
  );
  return scripted;
}

async function slotsUsed({ catalog }: ScriptedCatalog): Promise<readonly number[]> {
  const rows = (await catalog.read("worker", {})) as readonly { readonly slots_used: number }[];
  return rows.map(({ slots_used }) => slots_used);
}

export function testRequests(fixture: StoreFixture): void {
  describe("requests of the catalog", () => {
    test("[SC4] names are sets of their own, compare case-insensitively, and keep their spelling", async (t) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1", "w2");
      await scripted.run(source("Bids"), sink("bids"), query("BIDS"));
      assert.deepEqual(await namesOf(scripted, "logical source"), ["Bids"]);
      assert.deepEqual(await namesOf(scripted, "sink"), ["bids"]);
      assert.deepEqual(await namesOf(scripted, "query"), ["BIDS"]);
      assert.deepEqual(await namesOf(scripted, "logical source", { byName: "bIDS" }), ["Bids"]);
      const view = source("BIDS", { sourceKind: "VIEW", definition: "SELECT 1" });
      for (const change of [source("bids"), view, sink("BIDS"), query("bids")]) {
        await assert.rejects(scripted.run(change), { code: "AlreadyExists" });
        const [answer] = await scripted.run({ ...change, ifNotExists: true });
        assert.equal(answer?.kind === "created" && answer.existed, true);
      }
    });

    test("[SC5] ids are given in turn, and not again after a drop", async (t) => {
      const scripted = await openScripted(fixture, t);
      const idOf = (answer: unknown) => (answer as { readonly id: string }).id;
      assert.deepEqual((await scripted.run(source("a"), source("b"))).map(idOf), ["1", "2"]);
      await scripted.run(drop("logical source", "b"));
      assert.deepEqual((await scripted.run(sink("c"))).map(idOf), ["3"]);
    });

    test("[SC6, SC15] what something refers to is not dropped, and the refusal lists who does", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const uses = ["1"];
      await scripted.run(
        source("v", { sourceKind: "VIEW", definition: "SELECT ts FROM bids", uses }),
      );
      const refusals: readonly [Parameters<typeof drop>, string, RegExp][] = [
        [
          ["logical source", "bids"],
          "ReferencedPhysicalSourceExists",
          /the physical source 2 \(FILE\)/,
        ],
        [["physical source", "2"], "ReferencedQueryExists", /the query q, which is PENDING/],
        [["sink", "hot"], "ReferencedQueryExists", /the sink hot is used by the query q/],
      ];
      for (const [args, code, message] of refusals) {
        await assert.rejects(scripted.run(drop(...args)), { code, message, hint: /^Drop what/ });
      }
      await endQuery(scripted, "q");
      await scripted.run(drop("physical source", "2"), drop("sink", "hot"));
      const byView = { code: "ReferencedSourceExists", message: /the view v/, hint: /DROP VIEW v/ };
      await assert.rejects(scripted.run(drop("logical source", "bids")), byView);
      await scripted.run(drop("view", "v"), drop("logical source", "bids"));
      assert.deepEqual(await namesOf(scripted, "logical source"), []);
    });

    test("[SC6] a query that has failed still refers to its source", async (t) => {
      const scripted = await openPopulated(fixture, t);
      await scripted.store.catalogTransaction(async (tx) => {
        const row = await findQuery(tx, "q");
        assert(row !== undefined);
        const terminating = await moveQuery(tx, row, "TERMINATING", {});
        await moveQuery(tx, terminating, "FAILED", { state_reason: "port taken" });
      });
      const refused = { code: "ReferencedQueryExists", message: /which is FAILED/ };
      await assert.rejects(scripted.run(drop("physical source", "2")), refused);
    });

    test("[SC7] physical sources are unique by their whole description", async (t) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1");
      await scripted.run(source("bids"), source("asks"));
      const first = physical("1", { config: { FILE_PATH: "a.csv", A: 1 } });
      await scripted.run(first);
      const same = physical("1", { config: { A: 1, FILE_PATH: "a.csv" } });
      await assert.rejects(scripted.run(same), {
        code: "AlreadyExists",
        hint: "It is the physical source 3.",
      });
      const [found] = await scripted.run({ ...same, ifNotExists: true });
      assert.equal(found?.kind === "created" && found.id, "3");
      const others = [
        physical("2", first),
        physical("1", { ...first, sourceId: "1", placement: "w1" }),
        physical("1", { ...first, type: "TCP" }),
        physical("1", { ...first, config: { FILE_PATH: "b.csv" } }),
        physical("1", { ...first, parser: { TYPE: "JSON" } }),
      ];
      await scripted.run(
        ...others.map((each, at) => (at === 0 ? { ...each, sourceId: "2" } : each)),
      );
      assert.equal((await scripted.catalog.read("physical source", {})).length, 6);
    });

    test("[SC9] a secret is in no row that is shown, and the worker gets it", async (t) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1", "w2");
      const config = { HTTP_PORT: 1, TOKEN: "top-secret" };
      const op = {
        kind: "source",
        name: "bids",
        type: "Http",
        config,
        parser: {},
        record: [],
        columns: [],
        ingestionTime: false,
      } as const;
      const node = { id: 0, inputs: [], op, schema: [] };
      const plan = { version: 1, nodes: [node], settings: {} as never };
      await scripted.run(
        source("bids"),
        physical("new:0", { type: "Http", config }),
        query("q", {
          plan: { version: 1, plan, fragments: [] },
          statement: "SELECT * FROM Http('top-secret' AS \"SOURCE\".TOKEN) INTO hot",
        }),
      );
      const { store, catalog } = scripted;
      const shown = [await catalog.read("physical source", {}), await catalog.query("q")];
      assert.doesNotMatch(JSON.stringify(shown), /top-secret/);
      const stored = await store.read(async ({ db }) => [
        await db.selectFrom("catalog_changes").selectAll().execute(),
        await db.selectFrom("physical_sources").selectAll().execute(),
        await db.selectFrom("query_plans").selectAll().execute(),
        await db.selectFrom("query_history").selectAll().execute(),
      ]);
      assert.doesNotMatch(JSON.stringify(stored), /top-secret/);
      const sent = await store.read((tx) => readStoredPlan(tx, "3"));
      assert.equal(JSON.stringify(sent.plan), JSON.stringify(plan));
      await endQuery(scripted, "q");
      await scripted.run(drop("physical source", "2"));
      const left = await store.read(({ db }) =>
        db.selectFrom("stream_secrets").selectAll().execute(),
      );
      assert.deepEqual(left, []);
    });

    test("[SC55] a text that imitates a reference reaches no secret of anybody else", async (t) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1", "w2");
      const { store, run } = scripted;
      const sourceOf = (type: string, config: Settings) => {
        const op = { kind: "source", name: "s", type, config, parser: {}, record: [] } as const;
        const more = { columns: [], ingestionTime: false };
        return { id: 0, inputs: [], op: { ...op, ...more }, schema: [] };
      };
      const planOf = (node: ReturnType<typeof sourceOf>) => {
        const plan = { version: 1, nodes: [node], settings: {} as never };
        return { plan: { version: 1, plan, fragments: [] } };
      };
      const token = { HTTP_PORT: 1, TOKEN: "top-secret" };
      await run(source("bids"), physical("new:0", { type: "Http", config: token }));
      await run(query("theirs", planOf(sourceOf("Http", token))));
      const forged = ["SECRET('2/TOKEN')", "SECRET('3/0.TOKEN')"];
      for (const [at, text] of forged.entries()) {
        await run(query(`a${at}`, planOf(sourceOf("File", { FILE_PATH: text }))));
        await run(query(`b${at}`, planOf(sourceOf("Http", { HTTP_PORT: 1, TOKEN: text }))));
      }
      const ids = (await scripted.catalog.read("query", {})).map(
        (row) => (row as QueryBody).query_id,
      );
      for (const id of ids.slice(1)) {
        const sent = await store.read((tx) => readStoredPlan(tx, id));
        assert.doesNotMatch(JSON.stringify(sent), /top-secret/);
      }
      const own = query("mine", {
        ...planOf(sourceOf("Http", { HTTP_PORT: 1, TOKEN: "SECRET('2/TOKEN')" })),
        physicalSources: ["2"],
      });
      await run(own);
      const mine = (await scripted.catalog.query("mine")).query_id;
      const sent = await store.read((tx) => readStoredPlan(tx, mine));
      assert.match(JSON.stringify(sent), /top-secret/);
    });

    test("[SC56] a secret that the worker finds by its name is stored by its name only", async (t) => {
      const scripted = await openScripted(fixture, t);
      const config = { HTTP_PORT: 1, TOKEN: "SECRET('api-token')" };
      await scripted.run(source("bids"), physical("new:0", { type: "Http", config }));
      const [row] = await scripted.catalog.read("physical source", {});
      assert.deepEqual((row as PhysicalSourceBody).config, config);
      const kept = await scripted.store.read(({ db }) =>
        db.selectFrom("stream_secrets").selectAll().execute(),
      );
      assert.deepEqual(kept, []);
    });

    test("[SC10] a request is done as a whole or not at all", async (t) => {
      const scripted = await openScripted(fixture, t);
      const refused = scripted.run(source("a"), sink("b"), drop("sink", "b"), source("A"));
      await assert.rejects(refused, { code: "AlreadyExists" });
      assert.deepEqual(await namesOf(scripted, "logical source"), []);
      const [version] = await scripted.store.read(({ db }) =>
        db.selectFrom("stream_catalog").selectAll().execute(),
      );
      assert.deepEqual([version?.version, version?.last_id], [0, 0]);
    });

    test("[SC10] only the holder of the lease changes anything; others read", async (t) => {
      const scripted = await openScripted(fixture, t);
      await scripted.run(source("a"));
      scripted.leads = false;
      await assert.rejects(scripted.run(source("b")), { code: "not_leader" });
      assert.deepEqual(await namesOf(scripted, "logical source"), ["a"]);
      scripted.leads = true;
      await scripted.store.transaction(async ({ db }) => {
        await db.updateTable("coordinator_leases").set({ epoch: 2, holder: "other" }).execute();
      });
      await assert.rejects(scripted.run(source("b")), { code: "lease_lost" });
    });

    test("[SC11] a plan of a newer format is refused by name", async (t) => {
      const scripted = await openPopulated(fixture, t);
      await scripted.store.transaction(async ({ db }) => {
        await db.updateTable("query_plans").set({ plan_version: 2 }).execute();
      });
      await assert.rejects(
        scripted.store.read((tx) => readStoredPlan(tx, "4")),
        { code: "schema_newer", message: /the plan of the query 4 has the format 2/ },
      );
    });

    test("[SC12] a drop answers what it dropped, or null", async (t) => {
      const scripted = await openPopulated(fixture, t);
      for (const object of [
        "logical source",
        "physical source",
        "sink",
        "view",
        "query",
      ] as const) {
        const [answer] = await scripted.run(drop(object, "missing"));
        assert.deepEqual(answer, { kind: "dropped", object, name: "missing", row: null });
      }
      const [none] = await scripted.run(drop("worker", "missing"));
      assert.equal(none?.kind === "dropped" && none.row, null);
      await scripted.run(sink("cold"));
      const [gone] = await scripted.run(drop("sink", "COLD"));
      assert(gone?.kind === "dropped" && gone.row !== null);
      assert.equal((gone.row as { readonly name: string }).name, "cold");
    });

    test("[SC12] each filter of the request table, and names that do not exist", async (t) => {
      const scripted = await openPopulated(fixture, t);
      await scripted.run(
        source("asks"),
        source("v", { sourceKind: "VIEW", definition: "SELECT ts FROM bids", uses: ["1"] }),
        physical("new:0", { type: "Generator", config: {} }),
        sink("cold", { type: "Void", config: {} }),
        query(undefined, { placement: [{ fragment: "f0", workerId: "w1", isPinned: true }] }),
      );
      const cases: readonly [Object, ShowFilter, readonly string[]][] = [
        ["logical source", {}, ["asks", "bids"]],
        ["logical source", { byName: "ASKS" }, ["asks"]],
        ["view", {}, ["v"]],
        ["view", { byName: "V" }, ["v"]],
        ["physical source", {}, ["2", "7"]],
        ["physical source", { byId: "7" }, ["7"]],
        ["physical source", { forLogical: "Bids" }, ["2"]],
        ["physical source", { onWorker: "w1" }, ["2"]],
        ["physical source", { onWorker: "host-w1:4601" }, ["2"]],
        ["physical source", { byType: "generator" }, ["7"]],
        ["physical source", { byType: "TCP" }, []],
        ["physical source", { byType: "file", forLogical: "asks" }, []],
        ["sink", {}, ["cold", "hot"]],
        ["sink", { byName: "HOT" }, ["hot"]],
        ["sink", { onWorker: "host-w2" }, ["hot"]],
        ["sink", { onWorker: "w1" }, []],
        ["sink", { byType: "void" }, ["cold"]],
        ["query", {}, ["q", "null"]],
        ["query", { byName: "Q" }, ["q"]],
        ["query", { byName: "4" }, ["q"]],
        ["query", { byId: "4" }, ["q"]],
        ["query", { withState: "PENDING", onWorker: "w2" }, ["q"]],
        ["query", { withState: "FAILED" }, []],
        ["worker", {}, ["w1", "w2"]],
        ["worker", { byName: "host-w2" }, ["w2"]],
        ["worker", { withState: "UNREACHABLE" }, []],
        ["worker", { withState: "ACTIVE" }, ["w1", "w2"]],
        ["worker", { withCapacity: 999 }, ["w2"]],
      ];
      for (const [object, filter, want] of cases) {
        const got = await namesOf(scripted, object, filter);
        const shown = got.map((name) => (name === "undefined" ? "null" : name));
        assert.deepEqual(shown, want, `${object} ${JSON.stringify(filter)}`);
      }
      const missing: readonly [Object, ShowFilter][] = [
        ["logical source", { byName: "v" }],
        ["view", { byName: "bids" }],
        ["physical source", { byId: "99" }],
        ["physical source", { forLogical: "missing" }],
        ["physical source", { onWorker: "missing" }],
        ["sink", { byName: "missing" }],
        ["sink", { onWorker: "missing" }],
        ["query", { byName: "missing" }],
        ["query", { byId: "99" }],
        ["query", { onWorker: "missing" }],
        ["worker", { byName: "missing" }],
      ];
      for (const [object, filter] of missing) {
        const refused = { code: "DoesNotExist", message: /^there is no / };
        await assert.rejects(scripted.catalog.read(object, filter), refused);
      }
    });

    test("[SC13] a repeated request id gets the answer of the first request", async (t) => {
      const scripted = await openScripted(fixture, t);
      const { catalog } = scripted;
      const request = { statements: [statementOf(source("a"))], requestId: "r1" };
      const first = await catalog.execute(request, never);
      await scripted.run(drop("logical source", "a"));
      assert.deepEqual(await catalog.execute(request, never), first);
      assert.deepEqual(await namesOf(scripted, "logical source"), []);
      const other = { statements: [statementOf(source("b"))], requestId: "r1" };
      const refused = { code: "conflict", message: "another request had the id r1" };
      await assert.rejects(catalog.execute(other, never), refused);
      const failing = { statements: [statementOf(physical("1"))], requestId: "r2" };
      await assert.rejects(catalog.execute(failing, never), { code: "conflict" });
      await scripted.store.transaction(async ({ db }) => {
        await db.updateTable("stream_requests").set({ at_ms: 0 }).execute();
      });
      await catalog.execute({ statements: [statementOf(source("c"))], requestId: "r3" }, never);
      await catalog.execute(request, never);
      assert.deepEqual(await namesOf(scripted, "logical source"), ["a", "c"]);
    });

    test("[SC13] two requests with one id at the same time are done once", async (t) => {
      const scripted = await openScripted(fixture, t);
      const request = { statements: [statementOf(source("a"))], requestId: "r1" };
      const answers = await Promise.all(
        [1, 2, 3].map(async () => await scripted.catalog.execute(request, never)),
      );
      assert.deepEqual(answers[1], answers[0]);
      assert.deepEqual(answers[2], answers[0]);
    });

    test("[SC14] too many requests at one time are refused", async (t) => {
      const scripted = await openScripted(fixture, t);
      const gate = Promise.withResolvers<void>();
      scripted.afterPlan = () => gate.promise;
      const begun = [1, 2, 3, 4].map((number) => scripted.run(source(`s${number}`)));
      const refused = { code: "TooManyRequests", retry: "backoff" };
      await assert.rejects(scripted.run(source("s5")), refused);
      gate.resolve();
      await Promise.all(begun);
      await scripted.run(source("s5"));
    });

    test("[SC15] each refusal of a creation says what was wrong and what to do", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const cases: readonly [CatalogChange, object][] = [
        [source("BIDS"), { code: "AlreadyExists", message: /source bids exists/, hint: /DROP/ }],
        [sink("HOT"), { code: "AlreadyExists", message: /the sink hot exists/ }],
        [
          query("Q"),
          { code: "AlreadyExists", message: /the query q exists already; it is PENDING/ },
        ],
        [query("q"), { code: "AlreadyExists", hint: /CREATE OR REPLACE QUERY q takes its place/ }],
        [
          physical("1", { placement: "w3" }),
          { code: "WorkerDoesNotExistForPhysical", hint: "There are: w1, w2." },
        ],
        [sink("s", { placement: "w3" }), { code: "WorkerDoesNotExistForSink" }],
        [physical("1", { type: "Kafka" }), { code: "SourceTypeDoesNotExist" }],
        [sink("s", { type: "Kafka" }), { code: "SinkTypeDoesNotExist" }],
      ];
      for (const [change, refused] of cases) await assert.rejects(scripted.run(change), refused);
    });

    test("[SC4] a query that is being dropped keeps its name, and the refusal says its state", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const [answer] = await scripted.run(drop("query", "q", "SOFT"));
      assert(answer?.kind === "dropped");
      const row = answer.row as QueryBody;
      assert.deepEqual([row.desired_state, row.stop_mode], ["STOPPED", "SOFT"]);
      const refused = { code: "AlreadyExists", message: /q is being dropped .* it is PENDING/ };
      await assert.rejects(scripted.run(query("q")), refused);
      await assert.rejects(scripted.run(query("q", { ifNotExists: true })), refused);
      const modes: (string | null)[] = [];
      for (const mode of ["SOFT", "HARD", "SOFT"] as const) {
        const [again] = await scripted.run(drop("query", "4", mode));
        modes.push(((again as { row: QueryBody }).row as QueryBody).stop_mode);
      }
      assert.deepEqual(modes, ["SOFT", "HARD", "HARD"]);
      await endQuery(scripted, "q");
      await scripted.run(query("q"));
    });

    test("[SC2, SC3] an accepted query is PENDING in epoch 1, with its slots, and in the history", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const detail = await scripted.catalog.query("q");
      assert.deepEqual(
        [detail.state, detail.desired_state, detail.epoch, detail.fragments],
        ["PENDING", "RUNNING", 1, { PENDING: 2 }],
      );
      assert.deepEqual(
        detail.deployed.map(({ fragment, worker_id }) => [fragment, worker_id]),
        [
          ["f0", "w1"],
          ["f1", "w2"],
        ],
      );
      assert.deepEqual(
        [detail.logical_sources, detail.physical_sources, detail.sinks],
        [["bids"], ["2"], ["hot"]],
      );
      const [first] = detail.history;
      assert.deepEqual([first?.from_state, first?.to_state], ["NONE", "PENDING"]);
      assert.deepEqual(await slotsUsed(scripted), [1, 1]);
    });

    test("[SC46] what a state leaves open is told from fragments and workers", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const { store, catalog } = scripted;
      const detail = async () => (await catalog.query("q")).detail;
      const move = async (change: (tx: CatalogTx, row: QueryRow) => Promise<unknown>) => {
        await store.catalogTransaction(async (tx) => {
          const row = await findQuery(tx, "q");
          assert(row !== undefined);
          await change(tx, row);
        });
      };
      assert.equal(await detail(), null);
      await move(async (tx, row) => {
        await moveQuery(tx, row, "DEPLOYING", {});
        const [first] = await tx.db.selectFrom("query_fragments").selectAll().execute();
        assert(first !== undefined);
        await moveFragment(tx, first, "RUNNING");
      });
      assert.equal(await detail(), "PARTIALLY_DEPLOYED");
      await move((tx, row) => moveQuery(tx, row, "STOPPING", {}));
      assert.equal(await detail(), null);
      await move((tx) => tx.update("workers", "w2", { state: "UNREACHABLE" }));
      assert.equal(await detail(), "STOPPING_STUCK");
      const [listed] = (await catalog.read("query", { byName: "q" })) as readonly QueryBody[];
      assert.deepEqual(
        [listed?.detail, listed?.fragments],
        [await detail(), { PENDING: 1, RUNNING: 1 }],
      );
    });

    test("[SC21] a plan is made anew when what it uses has changed meanwhile, and not otherwise", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const [made] = await scripted.run(sink("used"));
      assert.ok(made?.kind === "created");
      const uses = { sinks: [made.id] };
      const meanwhile = (...changes: readonly CatalogChange[]): void => {
        scripted.plans = 0;
        scripted.afterPlan = async () => {
          scripted.afterPlan = async () => undefined;
          await scripted.run(...changes);
        };
      };
      meanwhile(sink("other"), source("another"));
      await scripted.run(query("r"));
      assert.equal(scripted.plans, 2, "one for each request");
      // The name is another sink's now, and this planner never learns that.
      meanwhile(drop("sink", "used"), sink("used"));
      await assert.rejects(scripted.run(query("s", uses)), /FOREIGN KEY|foreign key/);
      assert.equal(scripted.plans, 3, "it was planned again");
      scripted.network.set("w9:4601", dialledOf("w9"));
      meanwhile(worker("w9", { peers: ["w1"] }));
      await scripted.run(query("s"));
      assert.equal(scripted.plans, 3);
    });

    test("[SC21] a worker that was lost, or drains, makes the plan anew, and in the end a refusal", async (t) => {
      const scripted = await openPopulated(fixture, t);
      for (const patch of [
        { state: "UNREACHABLE" },
        { draining: 1 },
        { drain_requested: 1 },
      ] as const) {
        const restore = { state: "ACTIVE", draining: 0, drain_requested: 0 } as const;
        await scripted.store.catalogTransaction((tx) =>
          tx.update("workers", "w2", { ...restore, ...patch }),
        );
        scripted.plans = 0;
        await assert.rejects(scripted.run(query("r")), { code: "conflict", retry: "backoff" });
        assert.equal(scripted.plans, 5);
      }
      assert.deepEqual(await namesOf(scripted, "query"), ["q"]);
      assert.deepEqual(await slotsUsed(scripted), [1, 1]);
    });

    test("[SC21] slots that were taken meanwhile make the plan anew, and in the end a refusal", async (t) => {
      const scripted = await openPopulated(fixture, t);
      await scripted.store.transaction(async ({ db }) => {
        await db.updateTable("stream_workers").set({ slots: 1 }).execute();
      });
      scripted.plans = 0;
      const refused = {
        code: "InsufficientCapacity",
        message: /all 1 stream slots of the worker w1/,
      };
      await assert.rejects(scripted.run(query("r")), refused);
      assert.equal(scripted.plans, 5);
      assert.deepEqual(await slotsUsed(scripted), [1, 1]);
    });

    test("[SC21] a table of the lake that is gone makes the plan anew", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const tables = [{ tableId: 7, writes: true }];
      await assert.rejects(scripted.run(query("r", { tables })), { code: "conflict" });
      assert.deepEqual(await namesOf(scripted, "query"), ["q"]);
    });

    test("a query is paused and resumed, while it is there and has not ended", async (t) => {
      const scripted = await openPopulated(fixture, t);
      const set = (desired: "PAUSED" | "RUNNING", name = "q") =>
        scripted.run({ kind: "setDesired", query: name, desired });
      for (const desired of ["PAUSED", "RUNNING"] as const) {
        await set(desired);
        assert.equal((await scripted.catalog.query("q")).desired_state, desired);
      }
      await assert.rejects(set("PAUSED", "missing"), { code: "DoesNotExist" });
      await scripted.run(drop("query", "q"));
      await assert.rejects(set("RUNNING"), { code: "conflict", message: /is being dropped/ });
    });

    test("[SC32, SC6] a table of the lake that a query reads or writes is not changed", async (t) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1", "w2");
      await scripted.store.transaction(async ({ db }) => {
        const table = { begin_snapshot: 1, end_snapshot: null, schema_id: 0, path_is_relative: 1 };
        for (const table_id of [7, 8]) {
          const names = { table_uuid: `u${table_id}`, table_name: "orders", path: "orders/" };
          await db
            .insertInto("ducklake_table")
            .values({ ...table, ...names, table_id })
            .execute();
        }
      });
      const guard = createLakeGuard(scripted.store);
      const change = (tableId: number) =>
        guard.checkChange({ table: { tableId, name: "orders" } } as never, undefined, {} as never);
      const holds = await change(7);
      await scripted.run(query("q", { tables: [{ tableId: 7, writes: true }] }));
      const refused = {
        code: "reference_violated",
        message: "orders is written by the continuous query q, which is PENDING",
      };
      await assert.rejects(change(7), refused);
      await assert.rejects(scripted.store.catalogTransaction(holds), refused);
      assert.equal(await scripted.store.catalogTransaction(await change(8)), true);
    });

    test("[SC57] nor one that a sink made itself, and that was not there when it was planned", async (t) => {
      const scripted = await openScripted(fixture, t);
      await addWorkers(scripted.store, "w1", "w2");
      const guard = createLakeGuard(scripted.store);
      const change = (name: string, schema = "main") => {
        const table = { tableId: 99, schema, name };
        return guard.checkChange({ table } as never, undefined, {} as never);
      };
      const holds = await change("Hot");
      const op = { kind: "sink", name: "s", type: "Lake", config: { TABLE: "hot" }, formatter: {} };
      const nodes = [{ id: 0, inputs: [], op, schema: [] }] as never;
      const plan = { version: 1, nodes, settings: {} as never };
      await scripted.run(query("q", { plan: { version: 1, plan, fragments: [] } }));
      const refused = {
        code: "reference_violated",
        message: "Hot is written by the continuous query q, which is PENDING",
      };
      await assert.rejects(change("Hot"), refused);
      await assert.rejects(scripted.store.catalogTransaction(holds), refused);
      for (const other of [await change("hotter"), await change("hot", "other")]) {
        assert.equal(await scripted.store.catalogTransaction(other), true);
      }
      await endQuery(scripted, "q");
      assert.equal(await scripted.store.catalogTransaction(await change("hot")), true);
    });

    testWorkers(fixture);
  });
}

function dialledOf(workerId: string) {
  const incarnation = `${workerId}-1`;
  return { workerId, incarnation, dataPort: 4_700, capacity: 2, softwareVersion: "0.1.0" };
}

function testWorkers(fixture: StoreFixture): void {
  test("[SC16] a worker is dialled once, and nothing is stored when that fails", async (t) => {
    const scripted = await openScripted(fixture, t);
    await assert.rejects(scripted.run(source("a"), worker("edge-1")), { code: "NetworkError" });
    assert.deepEqual(await namesOf(scripted, "logical source"), []);
    scripted.network.set("edge-1:4601", dialledOf("e1"));
    await addWorkers(scripted.store, "w1", "w2");
    const setState = (state: "ACTIVE" | "UNREACHABLE") =>
      scripted.store.catalogTransaction((tx) => tx.update("workers", "w1", { state }));
    scripted.plans = 0;
    scripted.afterPlan = async () => {
      await setState(scripted.plans === 1 ? "UNREACHABLE" : "ACTIVE");
    };
    scripted.dials.length = 0;
    const described = worker("edge-1", { label: "edge", slots: 7 });
    const [answer] = await scripted.run(described, query("q"));
    assert.equal(scripted.plans, 2);
    assert.deepEqual(answer, {
      kind: "created",
      object: "worker",
      id: "e1",
      name: "edge",
      existed: false,
    });
    assert.deepEqual(scripted.dials, ["edge-1:4601"]);
    const [row] = (await scripted.catalog.read("worker", { byName: "EDGE" })) as never[];
    const { label, host, data_port, slots } = row as unknown as Record<string, unknown>;
    assert.deepEqual([label, host, data_port, slots], ["edge", "edge-1", 4_700, 7]);
    await assert.rejects(scripted.run(worker("edge-1")), { code: "AlreadyExists" });
    const [found] = (await scripted.run(worker("edge-1", { ifNotExists: true }))) as ChangeAnswer[];
    assert.equal(found?.kind === "created" && found.existed, true);
  });

  test("[SC16] CREATE WORKER describes a worker that made itself known", async (t) => {
    const scripted = await openScripted(fixture, t);
    await addWorkers(scripted.store, "w1");
    scripted.network.set("host-w1:4601", { ...dialledOf("w1"), incarnation: "i1" });
    await scripted.run(worker("host-w1", { label: "edge", slots: 3 }));
    const [row] = (await scripted.catalog.read("worker", {})) as never[];
    const { worker_id, label, slots, state } = row as unknown as Record<string, unknown>;
    assert.deepEqual([worker_id, label, slots, state], ["w1", "edge", 3, "ACTIVE"]);
  });

  test("[SC17] links to unknown workers, to itself and in a circle are refused", async (t) => {
    const scripted = await openScripted(fixture, t);
    for (const id of ["a", "b", "c"]) scripted.network.set(`${id}:4601`, dialledOf(`w-${id}`));
    const unknown = { code: "UnreachableNode", message: "there is no worker b" };
    await assert.rejects(scripted.run(worker("a", { peers: ["b"] })), unknown);
    const itself = { code: "InvalidTopology", message: "a:4601 cannot be its own peer" };
    await assert.rejects(scripted.run(worker("a", { peers: ["a"] })), itself);
    await scripted.run(worker("c"), worker("b", { peers: ["c"] }), worker("a", { peers: ["b"] }));
    const links = (await scripted.catalog.read("worker", {})).map(
      (row) => (row as unknown as { readonly peers: readonly string[] }).peers,
    );
    assert.deepEqual(links, [["w-b"], ["w-c"], []]);
    await addWorkers(scripted.store, "d");
    await scripted.store.transaction(async ({ db }) => {
      const link = { src_worker_id: "w-c", dst_worker_id: "d" };
      await db.insertInto("network_links").values(link).execute();
    });
    scripted.network.set("host-d:4601", { ...dialledOf("d"), incarnation: "i1" });
    await assert.rejects(scripted.run(worker("host-d", { peers: ["w-a"] })), {
      code: "InvalidTopology",
      message: /in a circle: .*→/,
    });
  });

  test("[SC18] a worker is named by id, label, address, or a host that is unique", async (t) => {
    const scripted = await openScripted(fixture, t);
    await addWorkers(scripted.store, "w1", "w2");
    await scripted.store.catalogTransaction((tx) =>
      tx.update("workers", "w2", { host_name: "host-w1", grpc_port: 4_700 }),
    );
    await scripted.store.transaction(async ({ db }) => {
      const row = { worker_id: "w2", label: "Edge", slots: 1, slots_used: 0 };
      await db.insertInto("stream_workers").values(row).execute();
    });
    for (const name of ["w2", "EDGE", "HOST-w1:4700"]) {
      assert.deepEqual(await namesOf(scripted, "worker", { byName: name }), ["w2"]);
    }
    await scripted.run(source("bids"));
    await assert.rejects(scripted.run(physical("1", { placement: "host-w1" })), {
      code: "WorkerDoesNotExistForPhysical",
      message: "2 workers are on the host host-w1",
      hint: "Name one of them: host-w1:4601, host-w1:4700.",
    });
  });

  test("[SC16] a worker that something names, or that has fragments, is not dropped", async (t) => {
    const scripted = await openPopulated(fixture, t);
    const refused = (code: string) => assert.rejects(scripted.run(drop("worker", "w1")), { code });
    await refused("ReferencedSourceExists");
    const onSecond = scripted.run(drop("worker", "w2"));
    await assert.rejects(onSecond, { code: "ReferencedSinkExists", message: /the sink hot/ });
    await scripted.run(
      query("r", { placement: [{ fragment: "f", workerId: "w1", isPinned: false }] }),
    );
    await endQuery(scripted, "q");
    await scripted.run(drop("physical source", "2"));
    await refused("ReferencedQueryExists");
    await scripted.run(drop("query", "r"));
    await refused("WorkerBusy");
    await endQuery(scripted, "r");
    const patch = { state: "UNREACHABLE" } as const;
    await scripted.store.catalogTransaction((tx) => tx.update("workers", "w1", patch));
    const [gone] = await scripted.run(drop("worker", "w1"));
    assert.equal((gone as unknown as { row: { worker_id: string } }).row.worker_id, "w1");
    assert.deepEqual(await namesOf(scripted, "worker"), ["w2"]);
  });

  test("[SC16] an active worker is drained before it is dropped", async (t) => {
    const scripted = await openScripted(fixture, t);
    await addWorkers(scripted.store, "w1");
    const { store } = scripted;
    const dropped = scripted.run(drop("worker", "w1"));
    // What the worker's session does once it sees the wish.
    await eventually("the wish to drain", () =>
      store.catalogTransaction(async (tx) => {
        const [row] = await tx.db.selectFrom("workers").selectAll().execute();
        if (row?.drain_requested !== 1) return undefined;
        return await tx.update("workers", "w1", { draining: 1 });
      }),
    );
    await dropped;
    assert.deepEqual(await namesOf(scripted, "worker"), []);
  });
}

/** What the reconciler does: every fragment is confirmed stopped, and the row goes. */
