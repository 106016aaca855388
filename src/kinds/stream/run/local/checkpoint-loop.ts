/**
 * Triggers the checkpoints of a query and collects what its fragments acknowledge, until they are
 * complete. Rules: SU12, SU26.
 */
import type { Clock, Timer } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Prepared } from "../core/checkpoint-record.ts";
import { CheckpointRound } from "../core/checkpoint-round.ts";
import type { CheckpointStore } from "../core/checkpoint-store.ts";
import type { ManifestFragment } from "../core/manifest.ts";
import type { EncodedFragment } from "../core/stream-host.ts";

/** A query that has repeated so much may as well begin again from its last checkpoint. */
const givenUpMax = 3;

export interface CheckpointLoopOptions {
  readonly store: CheckpointStore;
  readonly fragments: readonly string[];
  readonly intervalMs: number;
  /** How long a checkpoint may take before it is given up. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly trigger: (checkpoint: number) => void;
  readonly completed: (checkpoint: number) => void;
  /** A checkpoint could not be stored, or too many were given up. */
  readonly failed: (thrown: unknown) => void;
}

/** A fragment's state, which is stored once. */
interface State {
  readonly encoded: EncodedFragment;
  /** Whether what its sinks prepared was committed. */
  isCommitted: boolean;
  stored: Promise<ManifestFragment> | undefined;
}

export class CheckpointLoop {
  readonly #options: CheckpointLoopOptions;
  readonly #round: CheckpointRound<State>;
  #number: number;
  #timer: Timer | undefined;
  #givenUp = 0;
  #isClosed = false;
  #completing: Promise<void> | undefined;

  constructor(options: CheckpointLoopOptions) {
    this.#options = options;
    this.#round = new CheckpointRound(options.fragments);
    this.#number = options.store.last?.checkpoint ?? 0;
  }

  /** Takes the first checkpoint after an interval. */
  start(): void {
    this.#wait();
  }

  acknowledged(checkpoint: number, state: EncodedFragment): void {
    if (this.#isClosed) return;
    if (this.#round.checkpoint !== checkpoint) {
      if (state.prepared.size > 0) this.#fail(lostPrepared(checkpoint));
      return;
    }
    const acknowledged: State = { encoded: state, isCommitted: false, stored: undefined };
    // Whoever completes the checkpoint meets the error.
    this.#store(checkpoint, acknowledged).catch(() => undefined);
    this.#round.acknowledge(state.fragment, checkpoint, acknowledged);
    this.#check();
  }

  ended(fragment: string, state: EncodedFragment): void {
    if (this.#isClosed) return;
    // It is stored with the checkpoint that it is first part of, since a store keeps only those.
    this.#round.ended(fragment, { encoded: state, isCommitted: false, stored: undefined });
    this.#check();
  }

  /** The checkpoint behind the last row. Called when all fragments have ended. */
  async last(): Promise<void> {
    await this.#completing;
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#number += 1;
    this.#round.begin(this.#number);
    this.#check();
    await this.#completing;
  }

  /** No checkpoint will be completed any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#completing;
  }

  #wait(): void {
    const { clock, intervalMs } = this.#options;
    if (this.#isClosed || this.#round.hasAllEnded) return;
    this.#timer = clock.after(intervalMs, () => this.#begin());
  }

  #begin(): void {
    const { clock, timeoutMs, trigger } = this.#options;
    this.#number += 1;
    this.#round.begin(this.#number);
    this.#timer = clock.after(timeoutMs, () => this.#giveUp());
    trigger(this.#number);
    this.#check();
  }

  #giveUp(): void {
    const { timeoutMs } = this.#options;
    if (this.#completing !== undefined) return;
    this.#givenUp += 1;
    const missing = this.#round.missing();
    const { checkpoint = 0, acknowledged } = this.#round;
    this.#round.close();
    if (acknowledged.some(({ encoded }) => encoded.prepared.size > 0)) {
      this.#fail(lostPrepared(checkpoint));
      return;
    }
    if (this.#givenUp < givenUpMax) {
      this.#wait();
      return;
    }
    const message =
      `${givenUpMax} checkpoints in a row were not complete after ${timeoutMs} ms each; ` +
      `the last one lacked ${missing.join(", ")}`;
    this.#fail(new OperatingError("query_failed", "backoff", message));
  }

  #fail(thrown: unknown): void {
    const wasClosed = this.#isClosed;
    this.#isClosed = true;
    this.#timer?.cancel();
    if (!wasClosed) this.#options.failed(thrown);
  }

  #store(checkpoint: number, state: State): Promise<ManifestFragment> {
    state.stored ??= this.#options.store.store(checkpoint, state.encoded);
    return state.stored;
  }

  #check(): void {
    if (this.#completing !== undefined || this.#isClosed) return;
    const checkpoint = this.#round.checkpoint;
    const states = this.#round.states();
    if (checkpoint === undefined || states === undefined) return;
    this.#timer?.cancel();
    this.#completing = this.#complete(checkpoint, states);
  }

  async #complete(checkpoint: number, states: readonly State[]): Promise<void> {
    const { store, completed } = this.#options;
    try {
      const fragments = await Promise.all(states.map((state) => this.#store(checkpoint, state)));
      await store.complete(checkpoint, fragments, preparedOf(states));
      for (const state of states) state.isCommitted = true;
      this.#givenUp = 0;
      this.#round.close();
      completed(checkpoint);
      this.#wait();
    } catch (thrown) {
      // A query whose checkpoints fail would repeat more and more, so it fails.
      this.#fail(thrown);
    } finally {
      this.#completing = undefined;
    }
  }
}

/** Of the fragments' sinks; a sink is in one fragment. */
function preparedOf(states: readonly State[]): Prepared {
  return new Map(
    states.flatMap(({ encoded, isCommitted }) => (isCommitted ? [] : [...encoded.prepared])),
  );
}

/** Rows that a sink prepared are in no later checkpoint, so they have to be made again. */
function lostPrepared(checkpoint: number): OperatingError {
  const message =
    `checkpoint ${checkpoint} was given up, and a sink had prepared rows for it: ` +
    "the query has to go on from the last complete one";
  return new OperatingError("query_failed", "backoff", message);
}
