/** Faults that wait for a phase of a run: the coordinator is killed, or its next commit is lost. */
import type { Counters } from "../checks/counters.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { LoadFault } from "./plan-load.ts";

export type PhaseFault = Extract<LoadFault, { kind: "load_phase_crash" | "load_phase_lost" }>;

export interface LeaderFaults {
  kill(dark: boolean, restartMs: number): void;
  loseCommits(isAfter: boolean): void;
}

export class PhaseTraps {
  readonly #timeline: Timeline;
  readonly #counters: Counters;
  readonly #leader: LeaderFaults;
  #armed: PhaseFault[] = [];

  constructor(timeline: Timeline, counters: Counters, leader: LeaderFaults) {
    this.#timeline = timeline;
    this.#counters = counters;
    this.#leader = leader;
  }

  set(fault: PhaseFault): void {
    this.#armed.push(fault);
  }

  disarm(): void {
    this.#armed = [];
  }

  reached(phase: string): void {
    const due = this.#armed.find((fault) => fault.phase === phase);
    if (due === undefined) return;
    this.#armed = this.#armed.filter((fault) => fault !== due);
    const shown = phase === "" ? "PREPARED" : phase;
    if (due.kind === "load_phase_lost") {
      this.#counters.add(`load: commits lost in ${shown}`);
      this.#leader.loseCommits(due.isAfter);
      return;
    }
    // Never within the transaction's own event.
    this.#timeline.after(due.afterMs, () => {
      this.#counters.add(`load: coordinator killed in ${shown}`);
      this.#leader.kill(due.dark, due.forMs);
    });
  }
}
