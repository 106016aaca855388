/**
 * Faults that wait for their moment: a leaf being executed, an artifact just offered, a query
 * between two of its spans. Each is sprung once, by the first such moment of any PromQL query.
 */

import type { WorkSpec } from "../../src/ground/work/core/index.ts";
import { promqlWorkKind } from "../../src/kinds/ask/run/core/work-body.ts";
import type { Counters } from "../checks/counters.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Trace } from "../engine/trace.ts";
import type { Fault } from "../plan.ts";
import type { SimDisk } from "./disk.ts";

type LeafKill = Extract<Fault, { kind: "leaf_kill" }>;
type CrashBetweenSpans = Extract<Fault, { kind: "crash_between_spans" }>;

export interface TrapOptions {
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly counters: Counters;
  /** Whether the work is still being executed there. */
  readonly isExecuting: (life: Life, work: WorkSpec) => boolean;
  readonly kill: (life: Life, dark: boolean, restartMs: number) => void;
  readonly diskOf: (life: Life) => SimDisk | undefined;
}

export class Traps {
  readonly #options: TrapOptions;
  #kills: LeafKill[] = [];
  #losses = 0;
  #crashes: CrashBetweenSpans[] = [];

  constructor(options: TrapOptions) {
    this.#options = options;
  }

  killLeaf(fault: LeafKill): void {
    this.#kills.push(fault);
  }

  loseArtifacts(count: number): void {
    this.#losses += count;
  }

  crashBetweenSpans(fault: CrashBetweenSpans): void {
    this.#crashes.push(fault);
  }

  disarm(): void {
    this.#kills = [];
    this.#losses = 0;
    this.#crashes = [];
  }

  executionStarted(life: Life, work: WorkSpec, runMs: number): void {
    if (work.kind !== promqlWorkKind) return;
    const trap = this.#kills.shift();
    if (trap === undefined) return;
    const { timeline, isExecuting, kill, counters } = this.#options;
    timeline.after(runMs * trap.share, () => {
      if (!isExecuting(life, work)) return;
      counters.add("worker killed in a leaf");
      kill(life, trap.dark, trap.forMs);
    });
  }

  artifactWritten(life: Life, work: WorkSpec, path: string): void {
    if (work.kind !== promqlWorkKind || this.#losses === 0) return;
    this.#losses -= 1;
    const { timeline, diskOf, counters, trace } = this.#options;
    // It is offered in this moment, and no request for it can have come back yet.
    timeline.after(0, () => {
      const disk = diskOf(life);
      if (disk?.read(path) === undefined) return;
      disk.remove(path);
      trace.note("leaf artifact lost", life.name);
      counters.add("leaf artifact lost before its fetch");
    });
  }

  betweenSpans(life: Life): void {
    const trap = this.#crashes.shift();
    if (trap === undefined) return;
    const { timeline, kill, counters } = this.#options;
    // Not within the call of the process that is to die.
    timeline.after(0, () => {
      if (life.isDown) return;
      counters.add("controller killed between spans");
      kill(life, trap.dark, trap.forMs);
    });
  }
}
