/**
 * Tracks when artifacts expire, with one timer for the earliest. Artifacts of one kind expire in
 * order of arrival, so the earliest is at the head of one of two queues.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import type { HeldId } from "./assignment/index.ts";

export class ArtifactTtls {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #ttlAfterAckMs: number;
  readonly #expire: (id: HeldId) => void;
  /** Expiry times, in order. */
  readonly #unacked = new Map<HeldId, number>();
  readonly #acked = new Map<HeldId, number>();
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(
    clock: Clock,
    ttls: { readonly artifactTtlMs: number; readonly artifactTtlAfterAckMs: number },
    expire: (id: HeldId) => void,
  ) {
    this.#clock = clock;
    this.#ttlMs = ttls.artifactTtlMs;
    this.#ttlAfterAckMs = ttls.artifactTtlAfterAckMs;
    this.#expire = expire;
  }

  /** Starts the artifact's time to live, or restarts it when it was acknowledged. */
  keep(id: HeldId, acked: boolean): void {
    this.forget(id);
    const nowMs = this.#clock.nowMs();
    if (acked) this.#acked.set(id, nowMs + this.#ttlAfterAckMs);
    else this.#unacked.set(id, nowMs + this.#ttlMs);
    this.#arm();
  }

  forget(id: HeldId): void {
    this.#unacked.delete(id);
    // The timer may fire for nothing; it then arms itself for the next.
    this.#acked.delete(id);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
    this.#unacked.clear();
    this.#acked.clear();
  }

  #arm(): void {
    const earliestMs = Math.min(headOf(this.#unacked), headOf(this.#acked));
    if (earliestMs >= this.#timerMs) return;
    this.#timer?.cancel();
    this.#timerMs = earliestMs;
    const delayMs = Math.max(0, earliestMs - this.#clock.nowMs());
    this.#timer = this.#clock.after(delayMs, () => this.#fire());
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.nowMs();
    for (const queue of [this.#acked, this.#unacked]) {
      for (const [id, atMs] of queue) {
        if (atMs > nowMs) break;
        queue.delete(id);
        this.#expire(id);
      }
    }
    this.#arm();
  }
}

function headOf(queue: ReadonlyMap<HeldId, number>): number {
  const [earliestMs] = queue.values();
  return earliestMs ?? Number.POSITIVE_INFINITY;
}
