/** Transactions: all or nothing, serializable, unusable after their end. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { AssertionError, OperatingError } from "../../kernel/errors.ts";
import { makeSchemaDir } from "../testing/schema-dirs.ts";
import { openFresh, openOn, type StoreFixture } from "../testing/store-fixture.ts";
import { workerRow } from "../testing/worker-row.ts";
import type { Store, Tx } from "./store.ts";

/** The tables of the two races in specs/stateful-coordinator.md. */
const raceTables = `
  CREATE TABLE slots (worker_id TEXT NOT NULL PRIMARY KEY, available BIGINT NOT NULL);
  CREATE TABLE placements (query TEXT NOT NULL PRIMARY KEY, worker_id TEXT NOT NULL);
  INSERT INTO slots (worker_id, available) VALUES ('w1', 1);`;

export function testTransactions(fixture: StoreFixture): void {
  describe("transactions", () => {
    test("[ST1] a body that throws changes nothing", async (t) => {
      const { store } = await openFresh(fixture, t);
      const body = async (tx: Tx): Promise<void> => {
        await insertLease(tx, "a");
        throw new Error("changed my mind");
      };
      await assert.rejects(store.transaction(body), /changed my mind/);
      assert.deepEqual(await leaseNames(store), []);
    });

    test("[ST1] a body's result is the transaction's, and what it wrote is there", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      assert.equal(await store.transaction((tx) => insertLease(tx, "a")), "a");
      assert.deepEqual(await leaseNames(await openOn(place, t)), ["a"]);
    });

    if (fixture.isShared) testRaces(fixture);

    test("[ST2] concurrent read-modify-write on one store loses nothing", async (t) => {
      const { store } = await openFresh(fixture, t);
      await store.transaction((tx) => insertLease(tx, "counter"));
      await Promise.all(Array.from({ length: 20 }, () => incrementOnce(store)));
      const found = await store.read(({ db }) =>
        db.selectFrom("coordinator_leases").select("epoch").executeTakeFirstOrThrow(),
      );
      assert.equal(found.epoch, 21);
    });

    test("[ST4] a statement that fails dooms its transaction, even where the body catches it", async (t) => {
      const { store } = await openFresh(fixture, t);
      await store.transaction((tx) => insertLease(tx, "a"));
      const body = async (tx: Tx): Promise<void> => {
        await insertLease(tx, "b");
        await insertLease(tx, "a").catch(() => undefined);
      };
      await assert.rejects(store.transaction(body), { code: "already_exists" });
      assert.deepEqual(await leaseNames(store), ["a"]);
    });

    test("[ST5] a statement after its transaction is refused as our bug", async (t) => {
      const { store } = await openFresh(fixture, t);
      let escaped: Tx | undefined;
      await store.transaction(async (tx) => {
        escaped = tx;
      });
      await assert.rejects(async () => escaped && insertLease(escaped, "late"), AssertionError);
      assert.deepEqual(await leaseNames(store), []);
    });

    test("[ST6] a read sees one state, whatever is committed meanwhile", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      if (!fixture.isShared) return t.skip("one connection: nothing is committed meanwhile");
      const other = await openOn(place, t);
      const seen = await store.read(async (tx) => {
        const before = await countLeases(tx);
        await other.transaction((otherTx) => insertLease(otherTx, "a"));
        return [before, await countLeases(tx)];
      });
      assert.deepEqual(seen, [0, 0]);
      assert.equal(await store.read(countLeases), 1);
    });

    test("[ST6] a read refuses to write, built or raw", async (t) => {
      const { store } = await openFresh(fixture, t);
      await assert.rejects(
        store.read((tx) => insertLease(tx, "a")),
        AssertionError,
      );
      const raw = sql`INSERT INTO worker_states (state) VALUES ('ODD')`;
      await assert.rejects(store.read(async ({ db }) => await raw.execute(db)));
      assert.equal(await store.read(countStates), 2);
    });

    test("[ST13] time is the database's: whole milliseconds that advance", async (t) => {
      const { store } = await openFresh(fixture, t);
      const first = await store.catalogTransaction((tx) => tx.nowMs());
      const second = await store.catalogTransaction((tx) => tx.nowMs());
      assert.ok(Number.isSafeInteger(first) && second >= first);
    });

    test("[ST14] the schema refuses what breaks an invariant, and says what it was", async (t) => {
      const { store } = await openFresh(fixture, t);
      const insert = (row: ReturnType<typeof workerRow>): Promise<void> =>
        store.catalogTransaction((tx) => tx.insert("workers", row));
      await insert(workerRow("w1"));
      await assert.rejects(insert(workerRow("w1")), { code: "already_exists", retry: "never" });
      const badPort = workerRow("w2", { grpc_port: 0 });
      await assert.rejects(insert(badPort), { code: "bad_request", retry: "never" });
      const badState = workerRow("w2", { state: "ASLEEP" as "ACTIVE" });
      await assert.rejects(insert(badState), { code: "reference_violated", retry: "never" });
      const dropState = sql`DELETE FROM worker_states WHERE state = 'ACTIVE'`;
      await assert.rejects(
        store.transaction(async ({ db }) => await dropState.execute(db)),
        { code: "reference_violated" },
      );
    });

    test("[ST15] BIGINT is a number; one outside of the safe range is refused", async (t) => {
      const { store } = await openFresh(fixture, t);
      const select = (literal: string): Promise<unknown> =>
        store.read(async ({ db }) => {
          const found = await sql<{ n: unknown }>`
            SELECT CAST(${sql.raw(literal)} AS BIGINT) AS n`.execute(db);
          return found.rows[0]?.n;
        });
      assert.equal(await select("9007199254740991"), Number.MAX_SAFE_INTEGER);
      await assert.rejects(select("9007199254740993"));
      assert.equal(await select("7"), 7);
    });

    test("[ST16] closing waits for what has begun and refuses what comes", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const begun = store.transaction((tx) => insertLease(tx, "a"));
      const closed = store.close();
      assert.equal(await begun, "a");
      await closed;
      await store.close();
      await assert.rejects(store.read(countLeases), { code: "shutting_down" });
      assert.deepEqual(await leaseNames(await openOn(place, t)), ["a"]);
    });
  });
}

function testRaces(fixture: StoreFixture): void {
  const openRace = async (t: TestContext): Promise<readonly [Store, Store]> => {
    const schemaDir = makeSchemaDir(raceTables);
    const { store, place } = await openFresh(fixture, t, { schemaDir });
    return [store, await openOn(place, t, { schemaDir })];
  };

  test("[ST2] lost update: a planner takes a slot while a teardown gives one back", async (t) => {
    const [planner, teardown] = await openRace(t);
    const bothRead = new Meeting(2);
    const change = (by: number) => async (tx: Tx) => {
      const available = await availableSlots(tx);
      await bothRead.arrive();
      await sql`UPDATE slots SET available = ${available + by}`.execute(tx.db);
    };
    await Promise.all([planner.transaction(change(-1)), teardown.transaction(change(+1))]);
    assert.equal(await planner.read(availableSlots), 1);
  });

  test("[ST3] write skew: two planners cannot both take the last slot", async (t) => {
    const [first, second] = await openRace(t);
    const bothRead = new Meeting(2);
    const place = (query: string) => async (tx: Tx) => {
      const taken = await countPlacements(tx);
      const capacity = await availableSlots(tx);
      await bothRead.arrive();
      if (taken >= capacity) return false;
      await sql`INSERT INTO placements (query, worker_id) VALUES (${query}, 'w1')`.execute(tx.db);
      return true;
    };
    const placed = await Promise.all([
      first.transaction(place("a")),
      second.transaction(place("b")),
    ]);
    assert.deepEqual(placed.filter(Boolean), [true]);
    assert.equal(await first.read(countPlacements), 1);
  });
}

/** Lets transactions meet at the race. Gives up soon, where the database keeps them apart. */
class Meeting {
  #missing: number;
  #met: () => void = () => undefined;
  readonly #meeting = new Promise<void>((resolve) => {
    this.#met = resolve;
  });

  constructor(size: number) {
    this.#missing = size;
  }

  async arrive(): Promise<void> {
    this.#missing -= 1;
    if (this.#missing <= 0) this.#met();
    await Promise.race([this.#meeting, setTimeout(200)]);
  }
}

async function availableSlots({ db }: Tx): Promise<number> {
  const found = await sql<{ available: number }>`SELECT available FROM slots`.execute(db);
  return found.rows[0]?.available ?? 0;
}

async function countPlacements({ db }: Tx): Promise<number> {
  const found = await sql<{ n: number }>`
    SELECT count(*) AS n FROM placements WHERE worker_id = 'w1'`.execute(db);
  return found.rows[0]?.n ?? 0;
}

async function insertLease({ db }: Tx, name: string): Promise<string> {
  const row = { name, holder: "h", epoch: 1, expires_at_ms: 0, api_url: "" };
  await db.insertInto("coordinator_leases").values(row).execute();
  return name;
}

/**
 * Retries `store_busy`, which says that nothing was done: twenty transactions at once may be too
 * many for a busy machine.
 */
async function incrementOnce(store: Store): Promise<void> {
  for (;;) {
    try {
      return await store.transaction(increment);
    } catch (thrown) {
      if (!(thrown instanceof OperatingError) || thrown.code !== "store_busy") throw thrown;
    }
  }
}

async function increment({ db }: Tx): Promise<void> {
  const { epoch } = await db
    .selectFrom("coordinator_leases")
    .select("epoch")
    .executeTakeFirstOrThrow();
  await db
    .updateTable("coordinator_leases")
    .set({ epoch: epoch + 1 })
    .execute();
}

async function countLeases({ db }: Tx): Promise<number> {
  return (await db.selectFrom("coordinator_leases").select("name").execute()).length;
}

async function countStates({ db }: Tx): Promise<number> {
  return (await db.selectFrom("worker_states").select("state").execute()).length;
}

async function leaseNames(store: Store): Promise<string[]> {
  const rows = await store.read(({ db }) =>
    db.selectFrom("coordinator_leases").select("name").orderBy("name").execute(),
  );
  return rows.map(({ name }) => name);
}
