/**
 * Checks I5 and I9. When a controller dies, loses its session or cancels, the execution must stop
 * within the silence that the worker tolerates, plus what the network may add.
 */
import { type WorkSpec, workKeyText } from "../../src/ground/work/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { ExecutionProbe } from "../world/sim-executor.ts";
import type { Counters } from "./counters.ts";
import type { Verdict } from "./verdict.ts";

interface Execution {
  readonly life: Life;
  readonly work: WorkSpec;
  /** Undefined while the execution is wanted. */
  unwantedSinceMs: number | undefined;
}

export interface ExecutionRules {
  /** Whether the controller that owns the work has it on this worker. */
  isWanted(work: WorkSpec, worker: Life): boolean;
  /** The longest that a frame may still be under way between the two. */
  latencyMsMax(work: WorkSpec, worker: Life): number;
  kill(life: Life): void;
}

/** `controllerSilenceMsMax` of the default timing. */
const silenceMsMax = 5_000;
const abortMsMax = 100;

export class ExecutionCheck implements Pick<ExecutionProbe, "executionEnded" | "poisoned"> {
  readonly #verdict: Verdict;
  readonly #counters: Counters;
  readonly #rules: ExecutionRules;
  readonly #running = new Set<Execution>();
  readonly #kills = new Map<string, number>();

  constructor(verdict: Verdict, counters: Counters, rules: ExecutionRules) {
    this.#verdict = verdict;
    this.#counters = counters;
    this.#rules = rules;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  isRunning(life: Life, work: WorkSpec): boolean {
    for (const execution of this.#running) {
      if (execution.life === life && execution.work === work) return true;
    }
    return false;
  }

  executionStarted(life: Life, work: WorkSpec): void {
    this.#counters.add("execution");
    this.#running.add({ life, work, unwantedSinceMs: undefined });
  }

  executionEnded(life: Life, work: WorkSpec): void {
    for (const execution of this.#running) {
      if (execution.life !== life || execution.work !== work) continue;
      this.#running.delete(execution);
      return;
    }
  }

  poisoned(life: Life, work: WorkSpec): void {
    const key = workKeyText(work);
    const kills = (this.#kills.get(key) ?? 0) + 1;
    this.#kills.set(key, kills);
    this.#counters.add("worker killed by poison");
    this.#verdict.require(kills <= 2, "I9", () => `${key} has killed ${kills} workers`);
    this.#rules.kill(life);
  }

  lifeEnded(life: Life): void {
    for (const execution of this.#running) {
      if (execution.life === life) this.#running.delete(execution);
    }
  }

  /** Called every 250 ms of virtual time. */
  sweep(nowMs: number): void {
    for (const execution of this.#running) {
      const { life, work } = execution;
      if (this.#rules.isWanted(work, life)) {
        execution.unwantedSinceMs = undefined;
        continue;
      }
      execution.unwantedSinceMs ??= nowMs;
      if (!life.isUp) continue;
      const sinceMs = Math.max(execution.unwantedSinceMs, life.runningSinceMs);
      const boundMs = silenceMsMax + abortMsMax + this.#rules.latencyMsMax(work, life);
      this.#verdict.require(nowMs - sinceMs <= boundMs, "I5", () => {
        return `${life.name} executes ${workKeyText(work)}, unwanted for ${Math.round(nowMs - sinceMs)} ms`;
      });
    }
  }
}
