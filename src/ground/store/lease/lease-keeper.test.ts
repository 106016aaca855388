/** The lease over time: a manual clock drives both the keepers and the database. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../kernel/errors.ts";
import { HealthBoard, type HealthReporter } from "../../kernel/health.ts";
import { type Logger, silentLogger } from "../../kernel/logger.ts";
import { createPrng } from "../../kernel/prng.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { ownWatchedTables } from "../core/schema.ts";
import type { LeaseGrant, Store } from "../core/store.ts";
import { createSharedSqlite, openSimStore, type SharedSqlite } from "../sqlite/sim-store.ts";
import { LeaseKeeper } from "./lease-keeper.ts";

/** A store whose calls can fail, or be answered late or never. */
class CutStore implements Store {
  readonly dialect = "sqlite";
  readonly watched = ownWatchedTables;
  mode: "up" | "full" | "locked" | "down" | "hanging" = "up";
  readonly #store: Store;

  constructor(database: SharedSqlite) {
    this.#store = openSimStore({ database });
  }

  read: Store["read"] = (body) =>
    this.mode === "full" || this.mode === "locked"
      ? this.#store.read(body)
      : this.#pass(() => this.#store.read(body));
  transaction: Store["transaction"] = (body) => this.#pass(() => this.#store.transaction(body));
  catalogTransaction: Store["catalogTransaction"] = (body, lease) =>
    this.#pass(() => this.#store.catalogTransaction(body, lease));
  onPoke: Store["onPoke"] = (listener) => this.#store.onPoke(listener);
  close: Store["close"] = () => this.#store.close();

  #pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.mode === "hanging") return new Promise(() => undefined);
    if (this.mode === "up") return call();
    const codes = { full: "disk_full", locked: "store_busy", down: "store_unavailable" } as const;
    return Promise.reject(new OperatingError(codes[this.mode], "backoff", "cut off"));
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
  const keeper = startKeeper(clock, store, holder, silentLogger);
  keeper.onChange((grant) => changes.push(grant?.epoch));
  return { store, keeper, changes };
}

function startKeeper(
  clock: VirtualClock,
  store: Store,
  holder: string,
  logger: Logger,
  health?: HealthReporter,
): LeaseKeeper {
  const prng = createPrng(holder);
  const apiUrl = `http://${holder}`;
  const keeper = new LeaseKeeper({
    ...{ store, clock, prng, logger },
    ...{ name: "coordinator", holder, apiUrl },
    ...(health === undefined ? {} : { health }),
  });
  keeper.start();
  return keeper;
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

test("[ST48] a lease that cannot be renewed, in a store that can be read, stands as ours until somebody takes it", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(10);
  assert.equal(a.keeper.standsAsOurs(), false); // The lease is held normally.
  a.store.mode = "full";
  await clock.advance(60_000);
  assert.deepEqual([a.keeper.grant(), a.keeper.standsAsOurs()], [undefined, true]);
  const b = process("b"); // Its disk has room.
  await clock.advance(1_000);
  assert.deepEqual([b.keeper.grant()?.epoch, a.keeper.standsAsOurs()], [2, false]);
});

test("[ST48] who starts where nobody can write has the lease of its last life like that, and a new epoch as soon as there is room", async () => {
  const { clock, process } = world();
  const before = process("a");
  await clock.advance(10);
  before.store.mode = "hanging"; // As if it was killed.
  await clock.advance(60_000);
  const a = process("a");
  const stranger = process("b");
  for (const { store } of [a, stranger]) store.mode = "full";
  const standing: number[] = [];
  a.keeper.onStanding((epoch) => standing.push(epoch));
  stranger.keeper.onStanding(() => assert.fail("it never had it"));
  await clock.advance(60_000);
  assert.deepEqual([a.keeper.grant(), a.keeper.standsAsOurs(), standing], [undefined, true, [1]]);
  assert.equal(stranger.keeper.standsAsOurs(), false);
  a.store.mode = "up";
  await clock.advance(1_000);
  assert.equal(a.keeper.grant()?.epoch, 2);
});

test("[ST48] who starts where a write fails for another reason has nothing: somebody else may be able to write", async () => {
  const { clock, process } = world();
  const before = process("a");
  await clock.advance(10);
  before.store.mode = "hanging";
  await clock.advance(60_000);
  const a = process("a");
  a.store.mode = "locked";
  a.keeper.onStanding(() => assert.fail("the lock may be that of a successor"));
  await clock.advance(10_000);
  assert.equal(a.keeper.standsAsOurs(), false);
});

test("[ST48] who starts where nobody can write has nothing once somebody else has the lease", async () => {
  const { clock, process } = world();
  const before = process("a");
  await clock.advance(10);
  before.store.mode = "hanging";
  await clock.advance(60_000);
  const a = process("a");
  a.store.mode = "full";
  await clock.advance(10_000);
  assert.equal(a.keeper.standsAsOurs(), true);
  const b = process("b"); // Its disk has room.
  await clock.advance(1_000);
  assert.deepEqual([b.keeper.grant()?.epoch, a.keeper.standsAsOurs()], [2, false]);
});

test("[ST48] a store that cannot be written is warned of when that begins, and then once a minute", async () => {
  const clock = new VirtualClock();
  const store = new CutStore(createSharedSqlite(() => clock.wallMs()));
  const warned: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: ({ code, repeated = 0 }) => warned.push(`${code} ${repeated === 0 ? "" : "repeated"}`),
  };
  const keeper = startKeeper(clock, store, "a", logger);
  await clock.advance(10);
  store.mode = "full";
  await clock.advance(150_000);
  assert.deepEqual(warned, ["disk_full ", "disk_full repeated", "disk_full repeated"]);
  store.mode = "down";
  await clock.advance(1_000);
  store.mode = "up";
  await clock.advance(5_000);
  store.mode = "down";
  await clock.advance(5_000);
  assert.deepEqual(warned.slice(3), ["store_unavailable ", "store_unavailable "]);
  await keeper.stop();
});

test("[ST49] a store whose lock somebody holds, or that only waits, is told as degraded until it takes writes", async () => {
  const clock = new VirtualClock();
  const store = new CutStore(createSharedSqlite(() => clock.wallMs()));
  const board = new HealthBoard({ clock });
  const keeper = startKeeper(clock, store, "a", silentLogger, board.part("store"));
  const told = (): string => `${board.parts()[0]?.state} ${board.parts()[0]?.reason}`;
  await clock.advance(10);
  store.mode = "locked";
  await clock.advance(5_000);
  assert.match(told(), /^degraded another process holds its lock: it can be read/);
  store.mode = "up";
  await clock.advance(2_000);
  assert.equal(told(), "ok undefined");
  store.mode = "hanging"; // A statement waits for the lock and has not timed out yet.
  await clock.advance(4_000);
  assert.match(told(), /^degraded it has not taken a write for a while/);
  assert.equal(keeper.standsAsOurs(), false);
});

test("[ST48] who cannot read the store does not know whose the lease is", async () => {
  const { clock, process } = world();
  const a = process("a");
  await clock.advance(10);
  a.store.mode = "full";
  await clock.advance(10_000);
  a.store.mode = "down";
  await clock.advance(6_000);
  assert.equal(a.keeper.standsAsOurs(), false);
  a.store.mode = "up";
  await clock.advance(1_000);
  assert.equal(a.keeper.grant()?.epoch, 1);
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
