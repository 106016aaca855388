/**
 * Operations that have ended and may still turn out to have begun after the run's stop, of which a
 * worker hears late (LW20). They are in the live figures; they become records when they are
 * settled.
 *
 * At most `countMax` are kept: beyond, while the store does not answer, the oldest are settled.
 */
import type { Executed } from "../generator/load-generator.ts";

const countMax = 200_000;

export class UnsettledOperations {
  readonly #dueMsOf: (executed: Executed) => number;
  readonly #onSettled: (executed: Executed) => void;
  #operations: Executed[] = [];

  constructor(dueMsOf: (executed: Executed) => number, onSettled: (executed: Executed) => void) {
    this.#dueMsOf = dueMsOf;
    this.#onSettled = onSettled;
  }

  add(executed: Executed): void {
    this.#operations.push(executed);
    if (this.#operations.length < countMax) return;
    for (const oldest of this.#operations.splice(0, countMax / 2)) this.#onSettled(oldest);
  }

  /** What was due before counts, whatever comes. */
  settle(beforeMs: number): void {
    const rest: Executed[] = [];
    for (const each of this.#operations) {
      if (this.#dueMsOf(each) < beforeMs) this.#onSettled(each);
      else rest.push(each);
    }
    this.#operations = rest;
  }

  /** Takes out what was due at `atMs` or later. */
  takeSince(atMs: number): readonly Executed[] {
    const taken = this.#operations.filter((each) => this.#dueMsOf(each) >= atMs);
    this.#operations = this.#operations.filter((each) => this.#dueMsOf(each) < atMs);
    return taken;
  }
}
