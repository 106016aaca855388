/** The lease in time: a clock that is advanced by hand drives both the keepers and the database. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { createPrng } from "../../kernel/prng.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import type { LeaseGrant, Store } from "../core/store.ts";
import { createSharedSqlite, openSimStore, type SharedSqlite } from "../sqlite/sim-store.ts";
import { LeaseKeeper } from "./lease-keeper.ts";

/** A store that can be cut off: calls fail, or are answered late or never. */
class CutStore implements Store {
  readonly dialect = "sqlite";
  mode: "up" | "down" | "hanging" = "up";
  readonly #store: Store;

  constructor(database: SharedSqlite) {
    this.#store = openSimStore({ database });
  }

  read: Store["read"] = (body) => this.#pass(() => this.#store.read(body));
  transaction: Store["transaction"] = (body) => this.#pass(() => this.#store.transaction(body));
  catalogTransaction: Store["catalogTransaction"] = (body, lease) =>
    this.#pass(() => this.#store.catalogTransaction(body, lease));
  onPoke: Store["onPoke"] = (listener) => this.#store.onPoke(listener);
  close: Store["close"] = () => this.#store.close();

  #pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.mode === "hanging") return new Promise(() => undefined);
    if (this.mode === "up") return call();
    return Promise.reject(new OperatingError("store_unavailable", "backoff", "cut off"));
  }
}

function world(): { clock: VirtualClock; process: (holder: string) => Process } {
  const clock = new VirtualClock();
  const database = createSharedSqlite(() => clock.wallMs());
  return { clock, process: (holder) => startProcess(clock, database, holder) };
}

interface Process {
  readonly store: CutStore;
  readonly keeper: LeaseKeeper;
  readonly changes: (number | undefined)[];
}

function startProcess(clock: VirtualClock, database: SharedSqlite, holder: string): Process {
  const store = new CutStore(database);
  const changes: (number | undefined)[] = [];
  const keeper = new LeaseKeeper({
    store,
    clock,
    prng: createPrng(holder),
    logger: silentLogger,
    name: "coordinator",
    holder,
    apiUrl: `http://${holder}`,
  });
  keeper.onChange((grant) => changes.push(grant?.epoch));
  keeper.start();
  return { store, keeper, changes };
}

test("[ST41] a lease is kept by renewals, under one epoch", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(60_000);
  assert.equal(a.keeper.grant()?.epoch, 1);
  assert.deepEqual(a.changes, [1]);
});

test("[ST40] a standby waits while the holder renews", async () => {
  const { clock, process } = world();
  process("a");
  await clock.advance(10);
  const b = process("b");
  await clock.advance(60_000);
  assert.equal(b.keeper.grant(), undefined);
});

test("[ST46] a standby takes over within the lease and a poll after the holder's last renewal", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(10);
  const b = process("b");
  await clock.advance(20_000);
  a.store.mode = "hanging";
  await clock.advance(5_000 + 100);
  assert.deepEqual([a.keeper.grant(), b.keeper.grant()?.epoch], [undefined, 2]);
});

test("[ST44] the grant ends before the lease can have expired, counted from when the renewal was sent", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(1);
  a.store.mode = "down";
  await clock.advance(4_898);
  assert.equal(a.keeper.grant()?.epoch, 1);
  await clock.advance(1);
  assert.equal(a.keeper.grant(), undefined);
  assert.deepEqual(a.changes, [1, undefined]);
});

test("[ST44] a lease that nobody took comes back under its epoch", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(10);
  a.store.mode = "down";
  await clock.advance(10_000);
  assert.equal(a.keeper.grant(), undefined);
  a.store.mode = "up";
  await clock.advance(1_000);
  assert.deepEqual(a.changes, [1, undefined, 1]);
});

test("[ST41] a holder that was replaced learns it, and stands by", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(10);
  a.store.mode = "down";
  const b = process("b");
  await clock.advance(10_000);
  a.store.mode = "up";
  await clock.advance(10_000);
  assert.deepEqual([a.keeper.grant(), b.keeper.grant()?.epoch], [undefined, 2]);
  assert.deepEqual(a.changes, [1, undefined]);
});

test("[ST43] a restart under the same name takes over at once; two living twins do so once each", async () => {
  const { clock, process } = world();
  const first = process("a");
  await clock.advance(10);
  const second = process("a");
  await clock.advance(10);
  assert.equal(second.keeper.grant()?.epoch, 2);
  await clock.advance(60_000);
  assert.deepEqual([first.keeper.grant(), second.keeper.grant()?.epoch], [undefined, 2]);
});

test("[ST45] stopping releases, also when the store is down: then it expires", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(10);
  const b = process("b");
  await clock.advance(10);
  await a.keeper.stop();
  assert.equal(a.keeper.grant(), undefined);
  await clock.advance(2_000);
  assert.equal(b.keeper.grant()?.epoch, 2);
  b.store.mode = "down";
  await b.keeper.stop();
  const c = process("c");
  await clock.advance(10_000);
  assert.equal(c.keeper.grant()?.epoch, 3);
});

test("[ST46] whatever is cut off and when: never two grants at once, epochs only grow", async () => {
  const step = fc.record({
    who: fc.nat(2),
    mode: fc.constantFrom("up" as const, "down" as const, "hanging" as const),
    forMs: fc.integer({ min: 1, max: 8_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const { clock, process } = world();
      const processes = ["a", "b", "c"].map(process);
      const granted: number[] = [];
      for (const { keeper } of processes) {
        keeper.onChange((grant) => {
          if (grant === undefined) return;
          assert.equal(holders(processes).length, 1, "one holder at a time");
          granted.push(grant.epoch);
        });
      }
      for (const { who, mode, forMs } of steps) {
        const chosen = processes[who];
        if (chosen !== undefined) chosen.store.mode = mode;
        await clock.advance(forMs);
        assert.ok(holders(processes).length <= 1);
      }
      assert.deepEqual(
        granted,
        granted.toSorted((left, right) => left - right),
      );
    }),
    { numRuns: 60 },
  );
});

function holders(processes: readonly Process[]): LeaseGrant[] {
  return processes.flatMap(({ keeper }) => keeper.grant() ?? []);
}
