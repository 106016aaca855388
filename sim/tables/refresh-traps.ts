/**
 * Faults that wait for a refresh to reach a step. The first refresh that does springs each once.
 */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Counters } from "../checks/counters.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { TableFault } from "./plan-tables.ts";
import type { RefreshStep } from "./sim-refresher.ts";

type Trap = Extract<TableFault, { kind: "refresh_crash" | "refresh_pause" }>;

export interface RefreshTrapOptions {
  readonly timeline: Timeline;
  readonly counters: Counters;
  readonly kill: (life: Life, dark: boolean, restartMs: number) => void;
}

export class RefreshTraps {
  readonly #options: RefreshTrapOptions;
  #traps: Trap[] = [];
  #failures = 0;
  #permanent = 0;

  constructor(options: RefreshTrapOptions) {
    this.#options = options;
  }

  set(trap: Trap): void {
    this.#traps.push(trap);
  }

  failNext({ count, permanent }: Extract<TableFault, { kind: "refresh_failure" }>): void {
    if (permanent) this.#permanent += 1;
    else this.#failures += count;
  }

  disarm(): void {
    this.#traps = [];
    this.#failures = 0;
    this.#permanent = 0;
  }

  reached(life: Life, step: RefreshStep): void {
    const index = this.#traps.findIndex((trap) => trap.step === step);
    const [trap] = index < 0 ? [] : this.#traps.splice(index, 1);
    if (trap !== undefined) this.#spring(life, trap);
    if (step !== "computed") return;
    if (this.#permanent > 0) {
      this.#permanent -= 1;
      throw new OperatingError("bad_sql", "never", "the definition no longer works");
    }
    if (this.#failures === 0) return;
    this.#failures -= 1;
    throw new OperatingError("query_failed", "backoff", "bad luck");
  }

  /**
   * Not within the call of the process that it is done to, but before anything else happens to it.
   */
  #spring(life: Life, trap: Trap): void {
    const { timeline, counters, kill } = this.#options;
    const { kind, step } = trap;
    counters.add(`tables: ${kind === "refresh_crash" ? "killed" : "paused"} at ${step}`);
    timeline.after(0, () => {
      if (trap.kind === "refresh_crash") {
        kill(life, trap.dark, trap.forMs);
        return;
      }
      life.pause();
      timeline.after(trap.forMs, () => life.resume());
    });
  }
}
