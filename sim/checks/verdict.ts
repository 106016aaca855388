/**
 * The first violated invariant of a run. Whatever follows it is a consequence and is not reported.
 */
export interface Violation {
  /** The number and name of the invariant, as in README.md. */
  readonly invariant: Invariant;
  readonly detail: string;
  readonly atMs: number;
}

export const invariants = {
  I1: "legal transitions only",
  I2: "a worker shown ACTIVE has answered within the detection bound",
  I3: "no new work on an unreachable or draining worker",
  I4: "no double commit",
  I5: "no orphaned work after a session is lost",
  I6: "writes of an old epoch fail",
  I7: "a subscriber sees exactly the table",
  I8: "every query ends, with the right result or a clear error",
  I9: "a poisonous work item costs at most two workers",
  I10: "frames of an older session have no effect",
  I11: "one coordinator commands a worker, the one with the newest lease",
  I12: "work that is assigned has been sent, and work on a lost worker has moved",
  I13: "once faults heal, everything converges and nothing is left behind",
  I14: "no process fails by its own fault",
  I15: "a shutdown ends within its bound",
  I16: "a PromQL answer is exactly the one without faults",
  I17: "spans of a PromQL query are told in the order of time, each once",
  I18: "a refresh is published by the holder of its claim, once",
  I19: "data, publications and tokens only move forward",
  I20: "a dynamic table is its definition over one snapshot",
  I21: "no request for a refresh is lost",
  I22: "once faults heal, every dynamic table gets fresh",
  I23: "every file of every snapshot is there",
  I24: "what nobody refers to goes in the end",
  I25: "the lake's catalog agrees with itself",
  I26: "a write that succeeded is there, one that failed is not",
  I27: "runs and load workers go from status to status, and phase to phase, as they may",
  I28: "events, log lines and steps of a run are numbered without gap, START and STOP told once",
  I29: "what load workers are told sums to the run's load",
  I30: "no load worker outlives its run, its place or every coordinator for long",
  I31: "live and final counts of a run are what was done and said",
  I32: "a load worker is given up only when it is gone or silent, and what it said counts",
  I33: "once faults heal, every run ends",
  I34: "what was acknowledged is there after a crash",
  I35: "nothing is there that nobody sent, and no write in part",
  I36: "what a commit refers to is on the disk",
  I37: "whatever a crash leaves can be opened",
  I38: "once the disk is well, writes are taken again",
  I39: "what the disk cannot take is refused with a code",
  I40: "once faults heal and its sources change, a table that failures stopped runs again",
  I41: "queries and fragments go from state to state as they may, and to newer epochs",
  I42: "a query is deployed as a whole or not at all",
  I43: "the slots that are used are those of live fragments, and never more than there are",
  I44: "a name has one query until nothing of it is left, and nothing starts after it",
  I45: "no fragment is placed on a worker that is lost or drains",
  I46: "an older epoch changes nothing",
  I47: "each result of a query is committed once",
  I48: "a subscriber to the catalog sees exactly the catalog",
  I49: "a bundle is done as a whole or not at all",
  I50: "once faults heal, workers run what the catalog wants, and nothing else",
  I51: "a soft stop loses nothing",
} as const;

export type Invariant = keyof typeof invariants;

export class Verdict {
  readonly #nowMs: () => number;
  #violation: Violation | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  fail(invariant: Invariant, detail: string): void {
    this.#violation ??= { invariant, detail, atMs: this.#nowMs() };
  }

  /** `detail` is a function, so that a check that holds costs nothing. */
  require(holds: boolean, invariant: Invariant, detail: () => string): void {
    if (!holds) this.fail(invariant, detail());
  }
}
