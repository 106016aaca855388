/**
 * The checkpoints of one query in one epoch, as its coordinator drives them: it triggers one on the
 * workers, collects what each fragment says of it, has it recorded when all have, and tells the
 * workers. One is under way at a time. Triggers are idempotent: a worker whose session came back is
 * told again. A checkpoint that begins when all fragments have ended is the last, and holds
 * everything (SD24 to SD26). Pure: time and answers are events.
 */
import { CheckpointRound, type ManifestFragment, type Prepared } from "../../run/core/index.ts";

export interface CheckpointedFragment {
  readonly state: ManifestFragment;
  readonly prepared: Prepared;
}

export type CheckpointEffect =
  | { readonly kind: "trigger"; readonly checkpoint: number; readonly completed: number }
  | {
      readonly kind: "record";
      readonly checkpoint: number;
      /** The newest request for a savepoint that it answers; `undefined`: none. */
      readonly savepoint: number | undefined;
      readonly fragments: readonly CheckpointedFragment[];
    }
  | { readonly kind: "tell"; readonly checkpoint: number }
  /** It took too long. What sinks prepared for it is in no later one, so the query begins anew. */
  | { readonly kind: "givenUp"; readonly checkpoint: number; readonly missing: readonly string[] }
  /** The last one is recorded. */
  | { readonly kind: "final" };

export interface QueryCheckpointsOptions {
  readonly fragments: readonly string[];
  /** The number of the last complete checkpoint; 0 where there is none. */
  readonly last: number;
  /** The same, if it is of this epoch; else 0. */
  readonly completed: number;
  /** Requests for savepoints that are answered. */
  readonly savepointsTaken: number;
  readonly intervalMs: number;
  /** The least time between the end of one and the beginning of the next. */
  readonly pauseMs: number;
  /** One that takes longer is given up. */
  readonly timeoutMs: number;
  readonly nowMs: number;
}

export class QueryCheckpoints {
  readonly #options: QueryCheckpointsOptions;
  readonly #round: CheckpointRound<CheckpointedFragment>;
  #number: number;
  /** The last complete one of this epoch. */
  #completed: number;
  #dueMs: number;
  #begunMs: number;
  #isRecording = false;
  /** Whether the one under way began when all fragments had ended. */
  #isLast = false;
  #isFinal = false;
  #wantsFinal = false;
  #isGivenUp = false;
  /** Requests for savepoints: those that came, and those that a checkpoint was begun for. */
  #savepointsAsked: number;
  #savepointsBegun: number;
  /** What the checkpoint under way answers. */
  #savepoint: number | undefined;

  constructor(options: QueryCheckpointsOptions) {
    this.#options = options;
    this.#round = new CheckpointRound(options.fragments);
    this.#number = options.last;
    this.#completed = options.completed;
    this.#begunMs = options.nowMs;
    this.#dueMs = options.nowMs + options.intervalMs;
    this.#savepointsAsked = options.savepointsTaken;
    this.#savepointsBegun = options.savepointsTaken;
  }

  /** Whether the last checkpoint is recorded. */
  get isFinal(): boolean {
    return this.#isFinal;
  }

  /** When `tick` is due; infinity while it can do nothing. */
  get dueMs(): number {
    return this.#isRecording || this.#isFinal ? Number.POSITIVE_INFINITY : this.#dueMs;
  }

  tick(nowMs: number): readonly CheckpointEffect[] {
    if (nowMs < this.#dueMs || this.#isFinal || this.#isRecording) return [];
    const checkpoint = this.#round.checkpoint;
    if (checkpoint === undefined) return this.#begin(nowMs);
    const missing = this.#round.missing();
    this.#round.close();
    this.#isGivenUp = true;
    this.#dueMs = Number.POSITIVE_INFINITY;
    return [{ kind: "givenUp", checkpoint, missing }];
  }

  /**
   * All fragments have ended: the next checkpoint to begin is the last, and the savepoint that was
   * asked for. Idempotent.
   */
  end(savepointsAsked: number, nowMs: number): readonly CheckpointEffect[] {
    if (this.#wantsFinal) return [];
    this.#savepointsAsked = Math.max(savepointsAsked, this.#savepointsAsked);
    this.#wantsFinal = true;
    return this.#isBusy ? [] : this.#begin(nowMs);
  }

  /** So many savepoints were asked for in all; one answers all that it is begun after (SD40). */
  savepoint(asked: number, nowMs: number): readonly CheckpointEffect[] {
    this.#savepointsAsked = Math.max(asked, this.#savepointsAsked);
    const isOver = this.#isBusy || this.#isFinal;
    return isOver || !this.#wantsSavepoint ? [] : this.#begin(nowMs);
  }

  /** A worker's session came back: what it was told may be lost. */
  again(): readonly CheckpointEffect[] {
    const checkpoint = this.#round.checkpoint;
    if (checkpoint === undefined || this.#isRecording) return [];
    return [{ kind: "trigger", checkpoint, completed: this.#completed }];
  }

  checkpointed(checkpoint: number, said: CheckpointedFragment): readonly CheckpointEffect[] {
    if (this.#isRecording) return [];
    if (!this.#round.acknowledge(said.state.fragment, checkpoint, said)) return [];
    const fragments = this.#round.states();
    if (fragments === undefined) return [];
    this.#isRecording = true;
    return [{ kind: "record", checkpoint, savepoint: this.#savepoint, fragments }];
  }

  /** The one under way is recorded. */
  recorded(nowMs: number): readonly CheckpointEffect[] {
    this.#isRecording = false;
    this.#completed = this.#number;
    this.#round.close();
    const { intervalMs, pauseMs } = this.#options;
    this.#dueMs = Math.max(this.#begunMs + intervalMs, nowMs + pauseMs);
    const tell = { kind: "tell", checkpoint: this.#number } as const;
    if (this.#isLast) {
      this.#isFinal = true;
      return [tell, { kind: "final" }];
    }
    const isNext = this.#wantsFinal || this.#wantsSavepoint;
    return isNext ? [tell, ...this.#begin(nowMs)] : [tell];
  }

  /** Nothing follows one that was given up: it would lack what sinks had prepared for that. */
  get #isBusy(): boolean {
    return this.#isRecording || this.#isGivenUp || this.#round.checkpoint !== undefined;
  }

  get #wantsSavepoint(): boolean {
    return this.#savepointsAsked > this.#savepointsBegun;
  }

  #begin(nowMs: number): readonly CheckpointEffect[] {
    // A leader before this one may have begun it when not all had ended (SD35).
    const isOthers = this.#wantsFinal && this.#number === this.#options.last;
    this.#number += 1;
    this.#isLast = this.#wantsFinal && !isOthers;
    this.#savepoint = this.#wantsSavepoint && !isOthers ? this.#savepointsAsked : undefined;
    if (!isOthers) this.#savepointsBegun = this.#savepointsAsked;
    this.#round.begin(this.#number);
    this.#begunMs = nowMs;
    this.#dueMs = nowMs + this.#options.timeoutMs;
    return [{ kind: "trigger", checkpoint: this.#number, completed: this.#completed }];
  }
}
