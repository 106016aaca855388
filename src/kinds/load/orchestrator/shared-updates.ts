/**
 * One reading of a run for all who watch it: they ask at the same moments, so a reading that is a
 * moment old, or under way, is everybody's. Rules: LV4.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import type { RunId } from "../core/ids.ts";
import type { RunUpdate } from "../core/run-update.ts";

/** Undefined when there is no such run. Log lines are those after the sequence. */
export type ReadUpdate = (runId: RunId, afterLogSequence: number) => Promise<RunUpdate | undefined>;

interface Reading {
  readonly atMs: number;
  readonly update: Promise<RunUpdate | undefined>;
  /** The update has the log lines after this sequence. */
  readonly afterLogSequence: number;
}

const freshMs = 250;
const keptMs = 10_000;

export class SharedUpdates {
  readonly #read: ReadUpdate;
  readonly #clock: Clock;
  readonly #readings = new Map<RunId, Reading>();

  constructor(read: ReadUpdate, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  async update(runId: RunId, afterLogSequence: number): Promise<RunUpdate | undefined> {
    const reading = await this.#newest(runId);
    const update = await reading.update;
    if (update === undefined) return undefined;
    // A viewer that is new, or missed a second, reads once for itself.
    if (afterLogSequence < reading.afterLogSequence) {
      return await this.#read(runId, afterLogSequence);
    }
    const logs = update.logs.filter(({ sequence }) => sequence > afterLogSequence);
    return { ...update, logs };
  }

  async #newest(runId: RunId): Promise<Reading> {
    const nowMs = this.#clock.nowMs();
    const known = this.#readings.get(runId);
    if (known !== undefined && nowMs - known.atMs < freshMs) return known;
    const after = known === undefined ? 0 : await lastLogOf(known);
    const raced = this.#readings.get(runId);
    if (raced !== undefined && raced !== known) return raced;
    const reading = {
      atMs: nowMs,
      update: this.#read(runId, after),
      afterLogSequence: after,
    };
    this.#forgetOld(nowMs);
    this.#readings.set(runId, reading);
    return reading;
  }

  #forgetOld(nowMs: number): void {
    for (const [runId, { atMs }] of this.#readings) {
      if (nowMs - atMs > keptMs) this.#readings.delete(runId);
    }
  }
}

async function lastLogOf({ update, afterLogSequence }: Reading): Promise<number> {
  const read = await update.catch(() => undefined);
  return read?.logs.at(-1)?.sequence ?? afterLogSequence;
}
