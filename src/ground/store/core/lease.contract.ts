/** The lease: statements, and keepers on two stores. lease-keeper.test.ts tests the timing. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createPrng } from "../../kernel/prng.ts";
import { eventually } from "../../kernel/testing/eventually.ts";
import { LeaseKeeper } from "../lease/lease-keeper.ts";
import {
  acquireLease,
  type LeaseRequest,
  releaseLease,
  renewLease,
  selectLease,
} from "../lease/lease-statements.ts";
import { readLease } from "../lease/read-lease.ts";
import { openFresh, openOn, type StoreFixture } from "../testing/store-fixture.ts";
import { workerRow } from "../testing/worker-row.ts";
import type { CatalogTx, LeaseGrant, Store } from "./store.ts";

export function testLease(fixture: StoreFixture): void {
  describe("lease", () => {
    test("[ST40] granted to the first, refused while it is held, granted anew when it has expired", async (t) => {
      const { store } = await openFresh(fixture, t);
      const first = await acquire(store, "a", { leaseMs: 60_000 });
      assert.deepEqual(first, { name: "coordinator", holder: "a", epoch: 1 });
      assert.equal(await acquire(store, "b"), undefined);
      assert.equal(await acquire(store, "b", { restarted: true }), undefined);
      assert.equal(await acquire(store, "a"), undefined);
      await expire(store, first);
      assert.equal((await acquire(store, "b"))?.epoch, 2);
    });

    test("[ST41] a renewal keeps the epoch and works until somebody else is granted one", async (t) => {
      const { store } = await openFresh(fixture, t);
      const first = await acquire(store, "a");
      assert.ok(first !== undefined && (await renew(store, first)));
      assert.equal((await readLease(store, "coordinator"))?.epoch, 1);
      await expire(store, first);
      assert.ok(await renew(store, first), "expired, and nobody took it");
      await expire(store, first);
      await acquire(store, "b");
      assert.equal(await renew(store, first), false);
    });

    test("[ST42] a write under an older epoch fails and changes nothing", async (t) => {
      const { store } = await openFresh(fixture, t);
      const old = await acquire(store, "a");
      assert.ok(old !== undefined);
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")), old);
      await expire(store, old);
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w2")), old);
      const newer = await acquire(store, "b");
      const late = store.catalogTransaction((tx) => tx.insert("workers", workerRow("w3")), old);
      await assert.rejects(late, { code: "lease_lost", retry: "never" });
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("w4")), newer);
      assert.deepEqual(await workerIds(store), ["w1", "w2", "w4"]);
    });

    test("[ST42] no write under an old epoch commits after a newer one was granted", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const other = await openOn(place, t);
      const old = await acquire(store, "a");
      assert.ok(old !== undefined);
      await expire(store, old);
      const writes = Array.from({ length: 20 }, async (_, index) => {
        const row = workerRow(`w${index}`);
        const write = store.catalogTransaction((tx) => tx.insert("workers", row), old);
        return await write.then(
          () => "committed",
          (error: { code: string }) => error.code,
        );
      });
      const newer = await acquire(other, "b");
      const seen = await workerIds(other);
      const outcomes = await Promise.all(writes);
      assert.equal(newer?.epoch, 2);
      assert.deepEqual(await workerIds(other), seen);
      assert.equal(outcomes.filter((outcome) => outcome === "committed").length, seen.length);
      assert.deepEqual(
        new Set(outcomes).difference(new Set(["committed", "lease_lost"])),
        new Set(),
      );
    });

    test("[ST43] a restarted holder takes its lease over at once, under a new epoch", async (t) => {
      const { store } = await openFresh(fixture, t);
      const before = await acquire(store, "a", { leaseMs: 60_000 });
      const after = await acquire(store, "a", { leaseMs: 60_000, restarted: true });
      assert.deepEqual([before?.epoch, after?.epoch], [1, 2]);
    });

    test("[ST45] a released lease is granted at once; releasing another's does nothing", async (t) => {
      const { store } = await openFresh(fixture, t);
      const first = await acquire(store, "a", { leaseMs: 60_000 });
      assert.ok(first !== undefined);
      await store.transaction((tx) => releaseLease(tx.db, { ...first, holder: "b" }));
      assert.equal(await acquire(store, "b"), undefined);
      await store.transaction((tx) => releaseLease(tx.db, first));
      const released = await store.read((tx) => selectLease(tx.db, first.name));
      assert.ok((released?.remainingMs ?? 1) <= 0, "nobody has it");
      assert.ok((released?.remainingMs ?? 0) > -60_000, "since a moment ago");
      assert.equal((await acquire(store, "b"))?.epoch, 2);
    });

    test("[ST46] two coordinators, one lease: the standby takes over when the holder falls silent", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const silenced = new SilencedStore(store);
      const active = keeper(silenced, "a");
      const standby = keeper(await openOn(place, t), "b");
      t.after(() => standby.stop());
      let bothAtOnce = false;
      standby.onChange((grant) => {
        bothAtOnce ||= grant !== undefined && active.grant() !== undefined;
      });
      active.start();
      const old = await eventually("the first holds it", () => active.grant());
      standby.start();
      silenced.isSilent = true;
      const taken = await eventually("the standby takes over", () => standby.grant());
      assert.equal(bothAtOnce, false);
      assert.ok(taken.epoch > old.epoch);
      const late = store.catalogTransaction((tx) => tx.insert("workers", workerRow("w1")), old);
      await assert.rejects(late, { code: "lease_lost" });
      // On a busy machine the standby's lease may have expired too. Then it has a newer one.
      await eventually("the standby writes", async () => {
        const insert = (tx: CatalogTx) => tx.insert("workers", workerRow("w2"));
        try {
          await store.catalogTransaction(insert, standby.grant() ?? taken);
          return true;
        } catch (thrown) {
          assert.ok(thrown instanceof OperatingError && thrown.code === "lease_lost");
          return undefined;
        }
      });
    });

    test("[ST45] stopping the holder lets the standby in", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const active = keeper(store, "a", { leaseMs: 60_000, renewMs: 100 });
      const standby = keeper(await openOn(place, t), "b", { leaseMs: 60_000, renewMs: 100 });
      t.after(() => standby.stop());
      active.start();
      await eventually("the first holds it", () => active.grant());
      standby.start();
      await active.stop();
      assert.equal(active.grant(), undefined);
      await eventually("the standby takes over", () => standby.grant());
      assert.equal((await readLease(store, "coordinator"))?.apiUrl, "http://b");
    });
  });
}

/** A store whose process hangs: its calls are never answered. */
class SilencedStore implements Store {
  isSilent: boolean = false;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get watched(): Store["watched"] {
    return this.#store.watched;
  }

  get dialect(): Store["dialect"] {
    return this.#store.dialect;
  }

  read: Store["read"] = (body) => this.#unlessSilent(() => this.#store.read(body));
  transaction: Store["transaction"] = (body) =>
    this.#unlessSilent(() => this.#store.transaction(body));
  catalogTransaction: Store["catalogTransaction"] = (body, lease) =>
    this.#unlessSilent(() => this.#store.catalogTransaction(body, lease));
  onPoke: Store["onPoke"] = (listener) => this.#store.onPoke(listener);
  close: Store["close"] = () => this.#store.close();

  #unlessSilent<T>(answer: () => Promise<T>): Promise<T> {
    return this.isSilent ? new Promise(() => undefined) : answer();
  }
}

function keeper(
  store: Store,
  holder: string,
  times: { leaseMs: number; renewMs: number } = { leaseMs: 800, renewMs: 200 },
): LeaseKeeper {
  return new LeaseKeeper({
    store,
    clock: realClock,
    prng: createPrng(holder),
    logger: silentLogger,
    name: "coordinator",
    holder,
    apiUrl: `http://${holder}`,
    ...times,
  });
}

function acquire(
  store: Store,
  holder: string,
  overrides: Partial<LeaseRequest> = {},
): Promise<LeaseGrant | undefined> {
  const request = {
    name: "coordinator",
    holder,
    apiUrl: `http://${holder}`,
    leaseMs: 60_000,
    restarted: false,
    ...overrides,
  };
  return store.catalogTransaction((tx) => acquireLease(tx.db, request));
}

function renew(store: Store, grant: LeaseGrant): Promise<boolean> {
  return store.transaction((tx) => renewLease(tx.db, grant, 60_000));
}

/** Expires the lease without waiting. */
async function expire(store: Store, grant: LeaseGrant | undefined): Promise<void> {
  assert.ok(grant !== undefined);
  await store.transaction((tx) => renewLease(tx.db, grant, -1));
}

async function workerIds(store: Store): Promise<string[]> {
  const rows = await store.read(({ db }) =>
    db.selectFrom("workers").select("worker_id").orderBy("worker_id").execute(),
  );
  return rows.map((row) => row.worker_id);
}
