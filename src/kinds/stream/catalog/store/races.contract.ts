/**
 * Requests that come at the same time, by two connections to one store: the two races that the
 * coordinator's specification names under "Concurrency Control", and names that several ask for.
 */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Store } from "../../../../ground/store/index.ts";
import type { StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import type { StatementAnswer } from "../service/stream-catalog.ts";
import { endQuery } from "../testing/end-query.ts";
import { openPlanned, type PlannedCatalog } from "../testing/planned-catalog.ts";

const definitions = [
  "CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL)",
  `CREATE PHYSICAL SOURCE FOR bids TYPE File SET('a' AS "SOURCE".FILE_PATH, 'w1' AS "SOURCE"."HOST")`,
  "CREATE SINK hot TYPE Void",
];
const queryText = "SELECT ts FROM bids INTO hot";

type Pair = readonly [one: PlannedCatalog, other: PlannedCatalog];

/** The worker w1 has `slots` slots; every query that reads the source runs there. */
async function openPair(fixture: StoreFixture, t: TestContext, slots: number): Promise<Pair> {
  const [one, other] = await openPlanned(fixture, t, fixture.isShared ? 2 : 1);
  assert(one !== undefined);
  await one.run(...definitions);
  await one.store.transaction(async ({ db }) => {
    const row = { worker_id: "w1", label: null, slots, slots_used: 0 };
    await db.insertInto("stream_workers").values(row).execute();
  });
  return [one, other ?? one];
}

/** Every first plan waits until both are made, so that both saw the same catalog. */
function planTogether(...catalogs: Pair): void {
  const all = Promise.withResolvers<void>();
  let missing = 2;
  for (const catalog of new Set(catalogs)) {
    catalog.afterPlan = async () => {
      missing -= 1;
      if (missing <= 0) all.resolve();
      await all.promise;
    };
  }
}

interface Slots {
  readonly used: number;
  /** The number of fragments that hold a slot. */
  readonly held: number;
}

async function slotsOf(store: Store): Promise<Slots> {
  return await store.read(async ({ db }) => {
    const worker = await db
      .selectFrom("stream_workers")
      .select("slots_used")
      .where("worker_id", "=", "w1")
      .executeTakeFirstOrThrow();
    const fragments = await db
      .selectFrom("query_fragments")
      .select("fragment_id")
      .where("worker_id", "=", "w1")
      .where("holds_slot", "=", 1)
      .execute();
    return { used: worker.slots_used, held: fragments.length };
  });
}

/** The answer, or the code of the refusal. */
async function outcomeOf(
  request: Promise<readonly StatementAnswer[]>,
): Promise<StatementAnswer | string> {
  try {
    const [answer] = await request;
    return answer ?? assert.fail("each statement has its answer");
  } catch (thrown) {
    if (thrown instanceof OperatingError) return thrown.code;
    throw thrown;
  }
}

const wasMade = (outcome: StatementAnswer | string): boolean =>
  typeof outcome !== "string" && outcome.kind === "created" && !outcome.existed;

export function testRaces(fixture: StoreFixture): void {
  describe("requests at the same time", () => {
    test("[SC2, SC40] phantom slot: a placement and a teardown at one time lose neither", async (t) => {
      const [one, other] = await openPair(fixture, t, 2);
      for (let round = 0; round < 8; round += 1) {
        await one.run(`CREATE QUERY old AS ${queryText}`);
        assert.deepEqual(await slotsOf(one.store), { used: 1, held: 1 });
        await Promise.all([one.run(`CREATE QUERY new AS ${queryText}`), endQuery(other, "old")]);
        assert.deepEqual(await slotsOf(one.store), { used: 1, held: 1 });
        await endQuery(one, "new");
      }
    });

    test("[SC2, SC40] write skew: of two plans that saw the last slot, one is stored", async (t) => {
      const [one, other] = await openPair(fixture, t, 1);
      planTogether(one, other);
      const outcomes = await Promise.all([
        outcomeOf(one.run(`CREATE QUERY a AS ${queryText}`)),
        outcomeOf(other.run(`CREATE QUERY b AS ${queryText}`)),
      ]);
      assert.equal(outcomes.filter(wasMade).length, 1);
      assert.ok(outcomes.includes("InsufficientCapacity"), JSON.stringify(outcomes));
      assert.deepEqual(await slotsOf(one.store), { used: 1, held: 1 });
    });

    test("[SC4, SC40] of requests that create one name at one time, one does", async (t) => {
      const [one, other] = await openPair(fixture, t, 100);
      const creations = [
        ["CREATE LOGICAL SOURCE Same(a INT8)", "CREATE VIEW SAME AS SELECT ts FROM bids"],
        ["CREATE SINK same TYPE Void", "CREATE SINK SAME TYPE Print"],
        [`CREATE QUERY same AS ${queryText}`, `CREATE QUERY Same AS ${queryText}`],
      ] as const;
      for (const [first, second] of creations) {
        planTogether(one, other);
        const outcomes = await Promise.all([
          outcomeOf(one.run(first)),
          outcomeOf(other.run(second)),
        ]);
        assert.equal(outcomes.filter(wasMade).length, 1, first);
        assert.ok(outcomes.includes("AlreadyExists"), `${first}: ${JSON.stringify(outcomes)}`);
      }
    });

    test("[SC4, SC40] with IF NOT EXISTS one creates the name and the others find it", async (t) => {
      const [one, other] = await openPair(fixture, t, 100);
      planTogether(one, other);
      const create = "CREATE SINK IF NOT EXISTS same TYPE Void";
      const outcomes = await Promise.all(
        [one, other, one, other].map((each) => outcomeOf(each.run(create))),
      );
      assert.equal(outcomes.filter(wasMade).length, 1);
      const ids = outcomes.map((each) =>
        typeof each !== "string" && each.kind === "created" ? each.id : each,
      );
      assert.equal(new Set(ids).size, 1, JSON.stringify(ids));
    });

    test("[SC6, SC40] a query and the drop of its sink at one time: one of them is refused", async (t) => {
      const [one, other] = await openPair(fixture, t, 100);
      const seen = new Set<string>();
      for (let round = 0; round < 8; round += 1) {
        await one.run("CREATE SINK IF NOT EXISTS cold TYPE Void");
        planTogether(one, other);
        const create = one.run("CREATE QUERY q AS SELECT ts FROM bids INTO cold");
        const [created, dropped] = await Promise.all([
          outcomeOf(create),
          outcomeOf(other.run("DROP SINK cold")),
        ]);
        const [wasCreated, wasDropped] = [wasMade(created), typeof dropped !== "string"];
        assert.notEqual(wasCreated, wasDropped, JSON.stringify([created, dropped]));
        const refusal = wasCreated ? dropped : created;
        seen.add(String(refusal));
        const expected = wasCreated ? "ReferencedQueryExists" : "SinkDoesNotExistForQuery";
        assert.equal(refusal, expected);
        if (wasCreated) await endQuery(one, "q");
      }
      assert.ok(seen.size > 0);
    });

    test("[SC21, SC40] many who create different things at one time all succeed", async (t) => {
      const [one, other] = await openPair(fixture, t, 1_000);
      const requests = Array.from({ length: 24 }, (_, at) => {
        const catalog = at % 2 === 0 ? one : other;
        return outcomeOf(
          catalog.run(
            `CREATE LOGICAL SOURCE s${at}(a INT8)`,
            `CREATE PHYSICAL SOURCE FOR s${at} TYPE File SET('a' AS "SOURCE".FILE_PATH)`,
            `CREATE SINK k${at} TYPE Void`,
            `CREATE QUERY q${at} AS SELECT a FROM s${at} INTO k${at}`,
          ),
        );
      });
      for (const outcome of await Promise.all(requests)) {
        assert.ok(wasMade(outcome), JSON.stringify(outcome));
      }
    });

    test("[SC7, SC21] a bundle with IF NOT EXISTS reads the source that it finds, once", async (t) => {
      const [one] = await openPair(fixture, t, 100);
      const bundle = [
        "CREATE LOGICAL SOURCE IF NOT EXISTS s(a INT8)",
        `CREATE PHYSICAL SOURCE IF NOT EXISTS FOR s TYPE File SET('a' AS "SOURCE".FILE_PATH, 'w2' AS "SOURCE"."HOST")`,
        "CREATE SINK IF NOT EXISTS k TYPE Void",
      ];
      const planOf = async (name: string): Promise<string> => {
        await one.run(...bundle, `CREATE QUERY ${name} AS SELECT a FROM s INTO k`);
        return await one.store.read(async ({ db }) => {
          const { plan } = await db
            .selectFrom("query_plans")
            .innerJoin("queries", "queries.query_id", "query_plans.query_id")
            .select("plan")
            .where("name", "=", name)
            .executeTakeFirstOrThrow();
          return plan;
        });
      };
      assert.deepEqual(JSON.parse(await planOf("second")), JSON.parse(await planOf("first")));
    });

    test("[SC4, SC40] creations and drops of a few names by many leave what was answered", async (t) => {
      const [one, other] = await openPair(fixture, t, 1_000);
      const names = ["a", "b", "c"];
      const requests = Array.from({ length: 60 }, (_, at) => {
        const name = names[at % names.length] ?? "a";
        const text = at % 7 < 4 ? `CREATE SINK ${name} TYPE Void` : `DROP SINK ${name}`;
        return { name, outcome: outcomeOf((at % 2 === 0 ? one : other).run(text)) };
      });
      const balance = new Map(names.map((name) => [name, 0]));
      for (const { name, outcome } of requests) {
        const answer = await outcome;
        if (answer === "AlreadyExists") continue;
        assert.ok(typeof answer !== "string", String(answer));
        const change = wasMade(answer) ? 1 : answer.kind === "dropped" && answer.row ? -1 : 0;
        balance.set(name, (balance.get(name) ?? 0) + change);
      }
      const { sinks } = await one.snapshot();
      for (const name of names) {
        const there = sinks.filter((sink) => sink.name === name).length;
        assert.equal(there, balance.get(name), `${name} is there as often as was answered`);
      }
    });
  });
}
