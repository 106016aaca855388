/**
 * Acquires and renews the coordinator's lease, and reports truthfully whether this process holds
 * it. Other processes' writes are fenced by the epoch (`Store.catalogTransaction`), not by what
 * this class believes. A lease in our own name is taken before it expires only by the first
 * acquisition: a supervised restart need not wait, and two processes with one name do not take it
 * from each other for ever. At most one statement is under way, and failures are retried until
 * `stop()`. Rules: ST40 to ST48.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { HealthReporter } from "../../kernel/health.ts";
import type { LeaseEpoch } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { RepeatedWarning } from "../../kernel/repeated-warning.ts";
import type { LeaseGrant, Store } from "../core/store.ts";
import { acquireLease, releaseLease, renewLease, selectLease } from "./lease-statements.ts";

export interface LeaseKeeperOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly name: string;
  /** The same over restarts of one process, different for any two that may run at once. */
  readonly holder: string;
  /** The holder's API address, for people and workers. */
  readonly apiUrl: string;
  readonly leaseMs?: number;
  readonly renewMs?: number;
  /** Reports the store's health, since the keeper writes to it regularly. */
  readonly health?: HealthReporter;
}

export type LeaseListener = (grant: LeaseGrant | undefined) => void;

/** The share of a lease that clocks of different speeds may cost. */
const driftRatio = 0.02;

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #listeners = new Set<LeaseListener>();
  readonly #standing = new Set<(epoch: LeaseEpoch) => void>();
  readonly #warning: RepeatedWarning;
  #state: "new" | "running" | "stopped" = "new";
  #everAcquired = false;
  #held: { readonly grant: LeaseGrant; validUntilMs: number } | undefined;
  #shown: LeaseGrant | undefined;
  /** When the store last said that the lease is ours, although it could not be renewed. */
  #seenOursMs = Number.NEGATIVE_INFINITY;
  #attemptTimer: Timer | undefined;
  #expiryTimer: Timer | undefined;
  /** Why the store takes no writes, if known. */
  #trouble: string | undefined;
  /** The epoch of our last life that listeners were already told of (ST48). */
  #inherited: LeaseEpoch | undefined;
  #underWay: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#warning = new RepeatedWarning(options);
    this.#leaseMs = options.leaseMs ?? 5_000;
    this.#renewMs = options.renewMs ?? 1_500;
    assert(this.#renewMs * 2 < this.#leaseMs, "a renewal can fail once without losing the lease");
  }

  start(): void {
    assert(this.#state === "new", "a lease keeper is started once");
    this.#state = "running";
    this.#attemptIn(0);
  }

  /** Undefined when we do not hold the lease, or cannot be sure. */
  grant(): LeaseGrant | undefined {
    const held = this.#held;
    if (this.#state !== "running" || held === undefined) return undefined;
    return this.#options.clock.nowMs() < held.validUntilMs ? held.grant : undefined;
  }

  /**
   * Whether the store recently said that nobody took the lease, even if it has expired: the store
   * can be read and not written (ST48). The holder may then go on with what needs no lease.
   */
  standsAsOurs(): boolean {
    const isOurs = this.#held !== undefined || !this.#everAcquired;
    if (this.#state !== "running" || !isOurs) return false;
    return this.#options.clock.nowMs() - this.#seenOursMs < this.#leaseMs;
  }

  /** For how long nobody else can have got this lease, in milliseconds; 0 when that is unknown. */
  remainingMs(grant: LeaseGrant): number {
    if (this.grant()?.epoch !== grant.epoch || this.#held === undefined) return 0;
    return Math.max(0, this.#held.validUntilMs - this.#options.clock.nowMs());
  }

  /** Reports every change of `grant()`, not its current value. */
  onChange(listener: LeaseListener): () => void {
    const entry: LeaseListener = (grant) => listener(grant);
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  /** Reports once a lease of our last life that stands as ours because nobody can write (ST48). */
  onStanding(listener: (epoch: LeaseEpoch) => void): () => void {
    const entry = (epoch: LeaseEpoch): void => listener(epoch);
    this.#standing.add(entry);
    return () => {
      this.#standing.delete(entry);
    };
  }

  /** Gives the lease up at once, then releases it in the store for others. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#state = "stopped";
    this.#attemptTimer?.cancel();
    this.#expiryTimer?.cancel();
    this.#show();
    await this.#underWay;
    const grant = this.#held?.grant;
    this.#held = undefined;
    if (grant === undefined) return;
    try {
      await this.#options.store.transaction((tx) => releaseLease(tx.db, grant));
    } catch (error) {
      this.#report(error, "could not release the lease; it will expire");
    }
  }

  #attemptIn(delayMs: number): void {
    if (this.#state !== "running") return;
    this.#attemptTimer = this.#options.clock.after(delayMs, () => {
      this.#underWay = this.#attempt();
    });
  }

  async #attempt(): Promise<void> {
    let nextMs: number;
    const slow = this.#watchSlow();
    try {
      nextMs =
        this.#held === undefined ? await this.#acquire() : await this.#renew(this.#held.grant);
      this.#trouble = undefined;
      this.#warning.over();
      this.#options.health?.ok();
    } catch (error) {
      this.#report(error, "the store did not answer about the lease");
      await this.#look(error instanceof OperatingError && error.code === "disk_full"); // ST48
      nextMs = this.#spread(this.#renewMs / 5);
    } finally {
      slow.cancel();
    }
    this.#show();
    this.#attemptIn(nextMs);
  }

  /** Returns the time until the next attempt, in milliseconds. */
  async #acquire(): Promise<number> {
    const { store, clock, name, holder, apiUrl, logger } = this.#options;
    const restarted = !this.#everAcquired;
    const seen = await store.read((tx) => selectLease(tx.db, name));
    const isOurs = restarted && seen?.holder === holder;
    if (!isOurs) this.#seenOursMs = Number.NEGATIVE_INFINITY;
    if (seen !== undefined && seen.remainingMs > 0 && !isOurs) {
      return Math.min(seen.remainingMs, this.#renewMs) + this.#spread(50);
    }
    const sentAtMs = clock.nowMs();
    const request = { name, holder, apiUrl, leaseMs: this.#leaseMs, restarted };
    // Catalog transactions are serial. This acquisition is therefore strictly before or after every
    // write under the old epoch: once it has committed, no such write can.
    const grant = await store.catalogTransaction((tx) => acquireLease(tx.db, request));
    if (grant === undefined) return this.#spread(this.#renewMs / 5);
    this.#everAcquired = true;
    this.#held = { grant, validUntilMs: 0 };
    this.#extend(sentAtMs);
    logger.info({ lease: name, holder, lease_epoch: grant.epoch }, "acquired the lease");
    return this.#spread(this.#renewMs);
  }

  async #renew(grant: LeaseGrant): Promise<number> {
    const { store, clock, logger } = this.#options;
    const sentAtMs = clock.nowMs();
    const renewed = await store.transaction((tx) => renewLease(tx.db, grant, this.#leaseMs));
    if (!renewed) {
      this.#held = undefined;
      logger.warn(
        { lease: grant.name, lease_epoch: grant.epoch },
        "the lease went to another holder",
      );
      return this.#spread(this.#renewMs);
    }
    this.#extend(sentAtMs);
    return this.#spread(this.#renewMs);
  }

  /**
   * A statement that waits for a stopped process's lock may outlast the lease, so it is reported
   * before it fails.
   */
  #watchSlow(): Timer {
    const { clock, health } = this.#options;
    return clock.after(this.#renewMs, () => {
      this.#trouble ??= "it has not taken a write for a while: it can be read, at best";
      health?.degraded(this.#trouble);
    });
  }

  /** Reads who has the lease that could not be renewed. */
  async #look(isFull: boolean): Promise<void> {
    const { store, clock, name, holder } = this.#options;
    if (this.#held === undefined && (this.#everAcquired || !isFull)) return;
    const sentAtMs = clock.nowMs();
    try {
      const seen = await store.read((tx) => selectLease(tx.db, name));
      const epoch = this.#held?.grant.epoch ?? seen?.epoch;
      const isOurs = seen?.holder === holder && seen.epoch === epoch;
      this.#seenOursMs = isOurs ? sentAtMs : Number.NEGATIVE_INFINITY;
      if (isOurs && this.#held === undefined) this.#inherit(seen.epoch);
    } catch (error) {
      // The store cannot be read either, which was already reported.
      if (!(error instanceof OperatingError)) throw error;
    }
  }

  /** Reports the lease of our last life (ST48). */
  #inherit(epoch: LeaseEpoch): void {
    if (this.#inherited === epoch || this.#state !== "running") return;
    this.#inherited = epoch;
    const { logger, name } = this.#options;
    const fields = { lease: name, lease_epoch: epoch };
    logger.warn(fields, "the store cannot be written: the lease of before this start stands");
    for (const listener of [...this.#standing]) listener(epoch);
  }

  #extend(sentAtMs: number): void {
    assert(this.#held !== undefined, "only a lease that is held is extended");
    this.#held.validUntilMs = sentAtMs + this.#leaseMs * (1 - driftRatio);
    this.#watchExpiry();
  }

  #watchExpiry(): void {
    this.#expiryTimer?.cancel();
    if (this.#state !== "running" || this.#held === undefined) return;
    const leftMs = this.#held.validUntilMs - this.#options.clock.nowMs();
    if (leftMs <= 0) {
      this.#show();
      return;
    }
    this.#expiryTimer = this.#options.clock.after(leftMs, () => this.#watchExpiry());
  }

  #show(): void {
    const grant = this.grant();
    if (grant?.epoch === this.#shown?.epoch) return;
    this.#shown = grant;
    for (const listener of [...this.#listeners]) listener(grant);
  }

  /** Adds or subtracts up to a tenth, so that keepers do not stay in step. */
  #spread(delayMs: number): number {
    return delayMs * (0.9 + this.#options.prng.next() / 5);
  }

  #report(error: unknown, message: string): void {
    if (!(error instanceof OperatingError)) throw error;
    const { name, health } = this.#options;
    this.#trouble = writeTrouble(error.code);
    health?.degraded(this.#trouble);
    const fields = { lease: name, code: error.code, error: messageOf(error) };
    this.#warning.warn(error.code, fields, message);
  }
}

/** Why the store takes no writes, for people. */
function writeTrouble(code: OperatingError["code"]): string {
  if (code === "disk_full") return "its disk is full: it can be read and not written";
  if (code === "store_busy") {
    return "another process holds its lock: it can be read and not written. If that process is stopped, wake it up or end it";
  }
  return `it does not take writes (${code})`;
}
