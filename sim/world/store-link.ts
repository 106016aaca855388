/**
 * A process's connection to the control store, and its faults: latency, a partition, an outage, a
 * connection lost before or after COMMIT.
 *
 * A transaction's body runs at one moment of virtual time; a process that ends before that changed
 * nothing, one that ends after it changed everything. When the connection is lost before COMMIT,
 * nothing changed: the store runs the body again or throws `store_unavailable`. When it is lost
 * after COMMIT, everything changed: the store finds out and returns the result, or throws
 * `commit_unknown`.
 */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../../src/ground/store/index.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Direction, NetworkConditions } from "./network-conditions.ts";

/** The name of the database's host in `NetworkConditions`. */
export const storeHost = "store";

export type CommitFault = "lost_before" | "lost_after";

/** Faults of the store that affect all processes. */
export class StoreFaults {
  readonly #armed = new Map<string, CommitFault[]>();
  readonly #slow = new Map<string, number>();
  #outages = 0;

  get isOut(): boolean {
    return this.#outages > 0;
  }

  beginOutage(): void {
    this.#outages += 1;
  }

  endOutage(): void {
    this.#outages -= 1;
  }

  /** How much longer a write of `host` may take; 0 for no delay. */
  slowDown(host: string, extraMs: number): void {
    this.#slow.set(host, extraMs);
  }

  extraMsMax(host: string): number {
    return this.#slow.get(host) ?? 0;
  }

  /** The next commit of `host` meets this fault. */
  arm(host: string, fault: CommitFault): void {
    const armed = this.#armed.get(host) ?? [];
    if (armed.length < 3) armed.push(fault);
    this.#armed.set(host, armed);
  }

  disarmAll(): void {
    this.#armed.clear();
  }

  take(host: string): CommitFault | undefined {
    return this.#armed.get(host)?.shift();
  }
}

/** Called with every transaction that may write, when it runs. */
export interface StoreProbe {
  transactionBegins(lease: LeaseGrant | undefined): void;
  transactionEnded(isCatalog: boolean): void;
  readAnswered(life: Life): void;
  commitFaultMet(life: Life, fault: CommitFault, resolved: boolean): void;
  /** Called when a call will fail, or not run before `untilMs`; and again when it fails. */
  callDelayed(life: Life, untilMs: number): void;
  callFailed(life: Life): void;
}

export interface StoreLinkOptions {
  readonly store: Store;
  readonly life: Life;
  readonly timeline: Timeline;
  readonly conditions: NetworkConditions;
  readonly faults: StoreFaults;
  readonly prng: Prng;
  readonly probe: StoreProbe;
}

type CallKind = "read" | "write" | "catalog";
type Attempt<T> = (abort: () => void) => Promise<T>;

export class StoreLink implements Store {
  readonly dialect = "sqlite";
  readonly watched: Store["watched"];
  readonly #options: StoreLinkOptions;
  readonly #there: Direction;
  readonly #back: Direction;

  constructor(options: StoreLinkOptions) {
    this.#options = options;
    this.watched = options.store.watched;
    const { conditions, life } = options;
    this.#there = conditions.direction(life.name, storeHost);
    this.#back = conditions.direction(storeHost, life.name);
  }

  read<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#call(() => this.#options.store.read(body), undefined, "read");
  }

  transaction<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    const run: Attempt<T> = (abort) =>
      this.#options.store.transaction(async (tx) => {
        const result = await body(tx);
        abort();
        return result;
      });
    return this.#call(run, undefined, "write");
  }

  catalogTransaction<T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant): Promise<T> {
    const run: Attempt<T> = (abort) =>
      this.#options.store.catalogTransaction(async (tx) => {
        const result = await body(tx);
        abort();
        return result;
      }, lease);
    return this.#call(run, lease, "catalog");
  }

  onPoke(listener: () => void): () => void {
    const { store, life, timeline, conditions, faults, probe } = this.#options;
    const poke = (): void => {
      if (faults.isOut || this.#back.blocks > 0) {
        // The listening connection is gone; when it is back, the store pokes once to be safe.
        probe.callDelayed(life, timeline.nowMs + 1_000);
        timeline.after(1_000, poke);
        return;
      }
      life.receive(listener);
    };
    const unsubscribe = store.onPoke(() => {
      timeline.after(conditions.latencyMs(this.#back), poke);
    });
    life.onEnd(unsubscribe);
    return unsubscribe;
  }

  close(): Promise<void> {
    return this.#options.store.close();
  }

  #call<T>(run: Attempt<T>, lease: LeaseGrant | undefined, kind: CallKind): Promise<T> {
    const isRead = kind === "read";
    const isCatalog = kind === "catalog";
    const { life, timeline, conditions, faults, prng, probe } = this.#options;
    return new Promise((resolve, reject) => {
      const reply = (settle: () => void): void => {
        timeline.after(conditions.latencyMs(this.#back), () => life.receive(settle));
      };
      const unavailable = (message: string): void => {
        probe.callDelayed(life, timeline.nowMs);
        timeline.after(10 + prng.next() * 1_500, () => {
          life.receive(() => {
            probe.callFailed(life);
            reject(new OperatingError("store_unavailable", "backoff", message));
          });
        });
      };
      const commit = (fault: CommitFault | undefined, isRetry: boolean): void => {
        life.receive(() => {
          if (!isRead) probe.transactionBegins(lease);
          const abort = (): void => {
            if (fault === "lost_before") throw new LostBeforeCommit();
          };
          run(abort).then(
            (result) => {
              if (!isRead) probe.transactionEnded(isCatalog);
              const isLost = fault === "lost_after" || this.#back.blocks > 0;
              if (!isLost) {
                reply(() => {
                  if (isRead) probe.readAnswered(life);
                  resolve(result);
                });
              } else if (isRead) unavailable("the answer did not arrive");
              else this.#answerLost(result, resolve, reject);
            },
            (thrown: unknown) => {
              if (!isRead) probe.transactionEnded(isCatalog);
              if (!(thrown instanceof LostBeforeCommit)) {
                reply(() => reject(thrown));
                return;
              }
              const isTriedAgain = !isRetry && prng.next() < 0.5;
              probe.commitFaultMet(life, "lost_before", isTriedAgain);
              if (isTriedAgain) timeline.after(50, () => commit(undefined, true));
              else unavailable("the connection was lost before COMMIT");
            },
          );
        });
      };
      const extraMs = isRead ? 0 : faults.extraMsMax(life.name) * prng.next();
      if (extraMs > 0) probe.callDelayed(life, timeline.nowMs + extraMs);
      timeline.after(conditions.latencyMs(this.#there) + extraMs, () => {
        if (faults.isOut || this.#there.blocks > 0) {
          unavailable("the store cannot be reached");
          return;
        }
        commit(isRead ? undefined : faults.take(life.name), false);
      });
    });
  }

  #answerLost<T>(result: T, resolve: (result: T) => void, reject: (error: Error) => void): void {
    const { life, timeline, prng, probe } = this.#options;
    const isResolved = prng.next() < 0.5;
    probe.commitFaultMet(life, "lost_after", isResolved);
    const settle = (): void => {
      if (isResolved && this.#back.blocks > 0) {
        timeline.after(200, settle);
        return;
      }
      life.receive(() => {
        if (isResolved) resolve(result);
        else {
          probe.callFailed(life);
          reject(
            new OperatingError("commit_unknown", "backoff", "the connection was lost after COMMIT"),
          );
        }
      });
    };
    timeline.after(100 + prng.next() * 1_500, settle);
  }
}

/** Makes the store roll back; never leaves this file. */
class LostBeforeCommit extends Error {}
