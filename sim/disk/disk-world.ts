/**
 * One machine with a failing disk: processes are killed or lose power, syncs and writes fail, and
 * room runs out. The suite (`log-run.ts`, `lake-run.ts`) decides what runs on it.
 */

import { messageOf, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Files } from "../../src/ground/kernel/files.ts";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { openSimStore, type Store } from "../../src/ground/store/index.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";
import { Counters } from "../checks/counters.ts";
import { Verdict } from "../checks/verdict.ts";
import { drive, turn } from "../engine/drive.ts";
import { Life } from "../engine/life.ts";
import { Timeline } from "../engine/timeline.ts";
import { Trace } from "../engine/trace.ts";
import type { RunResult } from "../run-plan.ts";
import { returnDatabase, takeDatabase, type WorldDatabase } from "../world/database.ts";
import { DiskImage } from "./disk-image.ts";
import { type DiskSeams, diskSeams } from "./disk-seams.ts";
import { type CallKind, type DiskFaults, SimFiles } from "./sim-files.ts";

export interface DiskRunOptions {
  readonly seams?: DiskSeams;
  readonly print?: (line: string) => void;
}

/** A process that is restarted whenever it ends. */
export interface Program {
  /** Starts the process with the clock of `life` and the disk `files`. */
  start(life: Life, files: Files): void;
  /** Called before a restart after a power loss or a kill. */
  ended(): void;
}

const wholeMs = 6_000;
const healedMs = 4_000;
/** The call of a life at which a fault happens is drawn below this. */
const callsMax = 260;

export class DiskWorld {
  readonly prng: Prng;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly verdict: Verdict;
  readonly counters = new Counters();
  readonly image = new DiskImage();
  readonly seams: DiskSeams;
  readonly faults: DiskFaults = {
    roomBytes: Number.POSITIVE_INFINITY,
    syncFailures: 0,
    writeFailures: 0,
  };
  readonly store: Store;
  readonly #seed: number;
  readonly #database: WorldDatabase;
  #program: Program | undefined;
  #life: Life | undefined;
  #lives = 0;
  #calls = 0;
  #endsAtCall = Number.POSITIVE_INFINITY;
  #endsBy: "power" | "kill" = "power";
  #faultCount = 0;
  isHealed = false;

  constructor(kind: string, seed: number, options: DiskRunOptions) {
    this.#seed = seed;
    this.seams = options.seams ?? diskSeams;
    this.prng = createPrng(`${kind}-${seed}`);
    this.timeline = new Timeline(this.prng.fork("timeline"));
    this.trace = new Trace(() => this.timeline.nowMs, options.print);
    this.verdict = new Verdict(() => this.timeline.nowMs);
    this.#database = takeDatabase(() => 1_700_000_000_000 + Math.round(this.timeline.nowMs));
    this.store = openSimStore({
      database: this.#database.shared,
      watched: watchedRefreshTables,
    });
  }

  get life(): Life | undefined {
    return this.#life;
  }

  /**
   * Runs `program` until the time is over, heals the disk, and lets `end` check what must be true.
   */
  async run(program: Program, end: () => Promise<void>): Promise<RunResult> {
    const escaped = (thrown: unknown): void => {
      const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : messageOf(thrown);
      this.verdict.fail("I14", `an unhandled rejection: ${text}`);
    };
    process.on("unhandledRejection", escaped);
    try {
      this.#program = program;
      this.#start();
      this.#planFaults();
      await this.#advance(wholeMs);
      this.#heal();
      await this.#advance(wholeMs + healedMs);
      if (this.verdict.violation === undefined) await end();
      this.#life?.end();
      await turn();
    } finally {
      process.off("unhandledRejection", escaped);
      await this.store.close();
      if (this.verdict.violation === undefined) returnDatabase(this.#database);
    }
    return {
      seed: this.#seed,
      violation: this.verdict.violation,
      virtualMs: this.timeline.nowMs,
      eventCount: this.timeline.fired,
      faultCount: this.#faultCount,
      counts: this.counters.all(),
      traceHash: this.trace.digest(),
    };
  }

  /** Runs it after some virtual time, if the life still runs then. */
  later(life: Life, msMax: number, run: () => void): void {
    this.timeline.after(this.prng.next() * msMax, () => life.receive(run));
  }

  /** The process ends by itself, and is restarted. */
  endProcess(life: Life): void {
    if (life === this.#life && !life.isDown) this.#endLife("kill");
  }

  /** I39 */
  refused(what: string, thrown: unknown): void {
    const code = thrown instanceof OperatingError ? thrown.code : undefined;
    this.counters.add(`${what}: refused, ${code}`);
    const isClear = code !== undefined;
    this.verdict.require(isClear, "I39", () => `refused without a code: ${messageOf(thrown)}`);
  }

  #start(): void {
    this.#lives += 1;
    const report = (_life: Life, thrown: unknown): void => {
      this.verdict.fail("I14", thrown instanceof Error ? (thrown.stack ?? "") : messageOf(thrown));
    };
    const prng = this.prng.fork(`life-${this.#lives}`);
    const life = new Life("p", this.#lives, this.timeline, prng, report);
    this.#life = life;
    this.#calls = 0;
    // Over the seeds, the first life ends at every call in turn; later ends are drawn.
    const endsAt = this.#lives === 1 ? this.#seed % callsMax : prng.below(callsMax);
    this.#endsAtCall = this.isHealed ? Number.POSITIVE_INFINITY : 1 + endsAt;
    this.#endsBy = prng.next() < 0.7 ? "power" : "kill";
    this.trace.note("start", "p", this.#lives);
    const files = new SimFiles({
      image: this.image,
      life,
      timeline: this.timeline,
      prng: prng.fork("disk"),
      faults: this.faults,
      onCall: (kind, path) => this.#onCall(kind, path),
      onFault: (name) => {
        this.#faultCount += 1;
        this.counters.add(`disk: ${name}`);
        this.trace.note("disk fault", name);
      },
      losePower: () => this.#endLife(this.#endsBy),
    });
    this.#program?.start(life, this.seams.files(files));
  }

  #onCall(kind: CallKind, path: string): boolean {
    this.#calls += 1;
    this.trace.note(kind, path);
    if (this.#calls < this.#endsAtCall) return false;
    this.counters.add(`disk: ${this.#endsBy === "power" ? "power lost" : "killed"} at ${kind}`);
    return true;
  }

  #endLife(by: "power" | "kill"): void {
    this.#faultCount += 1;
    this.trace.note("end", by);
    this.#life?.end();
    this.#life = undefined;
    if (by === "power") this.image.losePower(this.prng);
    this.#program?.ended();
    this.timeline.after(20 + this.prng.next() * 200, () => this.#start());
  }

  #planFaults(): void {
    for (let count = this.prng.below(4); count > 0; count -= 1) {
      this.timeline.at(this.prng.next() * wholeMs, () => {
        if (this.prng.next() < 0.7) this.faults.syncFailures += 1;
        else this.faults.writeFailures += 1;
      });
    }
    for (let count = this.prng.below(3); count > 0; count -= 1) {
      const fromMs = this.prng.next() * wholeMs;
      this.timeline.at(fromMs, () => {
        this.faults.roomBytes = this.prng.below(4_000);
      });
      this.timeline.at(fromMs + this.prng.next() * 3_000, () => {
        this.faults.roomBytes = Number.POSITIVE_INFINITY;
      });
    }
  }

  #heal(): void {
    this.isHealed = true;
    this.#endsAtCall = Number.POSITIVE_INFINITY;
    this.faults.roomBytes = Number.POSITIVE_INFINITY;
    this.faults.syncFailures = 0;
    this.faults.writeFailures = 0;
    this.trace.note("healed", "p");
  }

  #advance(untilMs: number): Promise<void> {
    return drive(() => this.verdict.violation === undefined && this.timeline.step(untilMs));
  }
}
