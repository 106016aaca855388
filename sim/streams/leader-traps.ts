/** Faults that wait for a moment in the life of a query: the leader is killed, or loses commits. */
import type { Counters } from "../checks/counters.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { LeaderFaults } from "../load/phase-traps.ts";
import type { StreamFault } from "./plan-streams.ts";

export type LeaderFault = Extract<StreamFault, { readonly kind: "stream_leader" }>;

export class LeaderTraps {
  readonly #timeline: Timeline;
  readonly #counters: Counters;
  readonly #leader: LeaderFaults;
  #armed: LeaderFault[] = [];

  constructor(timeline: Timeline, counters: Counters, leader: LeaderFaults) {
    this.#timeline = timeline;
    this.#counters = counters;
    this.#leader = leader;
  }

  set(fault: LeaderFault): void {
    this.#armed.push(fault);
  }

  disarm(): void {
    this.#armed = [];
  }

  /** A query came to a state, or a checkpoint of one was recorded. */
  reached(moment: string): void {
    const due = this.#armed.find((fault) => fault.moment === moment);
    if (due === undefined) return;
    this.#armed = this.#armed.filter((fault) => fault !== due);
    // Never within the transaction's own event.
    this.#timeline.after(due.afterMs, () => {
      this.#counters.add(`streams: leader ${due.does} at ${moment}`);
      if (due.does === "dies") this.#leader.kill(due.dark, due.forMs);
      else this.#leader.loseCommits(due.dark);
    });
  }
}
