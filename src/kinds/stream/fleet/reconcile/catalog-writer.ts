/**
 * Writes what many reconcilers decide in few transactions (SD20): catalog transactions are serial
 * and synced to disk, so whatever is asked for within a tick goes into one. A body that fails dooms
 * its transaction, so then each of the others has one of its own.
 */
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx, LeaseGrant, Store } from "../../../../ground/store/index.ts";

interface Waiting {
  readonly run: (tx: CatalogTx) => Promise<void>;
  readonly done: () => void;
  readonly failed: (thrown: unknown) => void;
}

/** So that a transaction stays short. */
const bodiesMax = 200;
/** SQLite commits on this thread, so nobody could ask for more while a transaction is under way. */
const tickMs = 5;

export class CatalogWriter {
  readonly #store: Store;
  readonly #lease: () => LeaseGrant | undefined;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(store: Store, lease: () => LeaseGrant | undefined, clock: Clock) {
    this.#store = store;
    this.#lease = lease;
    this.#clock = clock;
  }

  /** The body may run several times; its last result counts. */
  async write<T>(body: (tx: CatalogTx) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let result: { readonly value: T } | undefined;
    const run = async (tx: CatalogTx): Promise<void> => {
      result = { value: await body(tx) };
    };
    this.#waiting.push({ run, done: resolve, failed: reject });
    if (!this.#isWriting) void this.#writeAll();
    await promise;
    return (result as { readonly value: T }).value;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      await sleep(this.#clock, tickMs);
      const batch = this.#waiting.splice(0, bodiesMax);
      if (batch.length === 1 || !(await this.#together(batch))) await this.#apart(batch);
    }
    this.#isWriting = false;
  }

  /** `false`: one of them failed, and nothing was done. */
  async #together(batch: readonly Waiting[]): Promise<boolean> {
    try {
      await this.#transaction(async (tx) => {
        for (const { run } of batch) await run(tx);
      });
    } catch (thrown) {
      // Whether it was committed is unknown: each looks again.
      const isUnknown = thrown instanceof OperatingError && thrown.code === "commit_unknown";
      if (!isUnknown) return false;
      for (const { failed } of batch) failed(thrown);
      return true;
    }
    for (const { done } of batch) done();
    return true;
  }

  async #apart(batch: readonly Waiting[]): Promise<void> {
    for (const { run, done, failed } of batch) await this.#transaction(run).then(done, failed);
  }

  async #transaction(body: (tx: CatalogTx) => Promise<void>): Promise<void> {
    const lease = this.#lease();
    if (lease === undefined) {
      throw new OperatingError("lease_lost", "never", "this process does not lead any more");
    }
    await this.#store.catalogTransaction(body, lease);
  }
}
