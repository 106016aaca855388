/**
 * One query that runs in this process from its beginning, or from its last checkpoint, to its end.
 * With a checkpoint directory it takes a checkpoint every so often and a last one when it ends, so
 * that running it again does nothing twice (SU15). What sinks prepare is committed with it; without
 * checkpoints it is committed as often, and a run that is killed leaves what was committed (SU41).
 */
import type { Clock, Timer } from "../../../../ground/kernel/clock.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { DialectError, hashPlan, type Plan } from "../../language/core/index.ts";
import { encodeFragment } from "../checkpoint/encode-checkpoint.ts";
import { LocalCheckpoints } from "../checkpoint/local-checkpoints.ts";
import type { CheckpointRecord, Prepared } from "../core/checkpoint-record.ts";
import type { Connectors } from "../core/connectors.ts";
import { FragmentHost, type FragmentProgress } from "../host/fragment-host.ts";

export interface LocalQueryOptions {
  readonly plan: Plan;
  readonly connectors: Connectors;
  readonly clock: Clock;
  /** Where checkpoints are; without it there are none. */
  readonly checkpoints: LocalCheckpointPlace | undefined;
  /** Commits what sinks prepared where there are no checkpoints; absent where none prepares. */
  readonly commit?: (prepared: Prepared) => Promise<void>;
}

export interface LocalCheckpointPlace {
  readonly directory: string;
  readonly files: Files;
  /** By default a file in the directory, which commits nothing. */
  readonly record?: CheckpointRecord;
}

const fragmentName = "f0";

export class LocalQuery {
  readonly #options: LocalQueryOptions;
  #host: FragmentHost | undefined;
  #checkpoints: LocalCheckpoints | undefined;
  #taking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isEnding = false;
  #isClosed = false;
  #failure: unknown;

  constructor(options: LocalQueryOptions) {
    this.#options = options;
  }

  /** Opens sources and sinks; nothing is read yet. */
  async open(): Promise<void> {
    const { plan, connectors, clock, checkpoints } = this.#options;
    if (plan.settings.parallelism > 1) {
      throw new DialectError(2008, "a query in a process of its own runs in one thread", {
        hint: 'Leave "QUERY".PARALLELISM out.',
      });
    }
    if (checkpoints !== undefined) {
      const { directory, files, record } = checkpoints;
      const hash = hashPlan(plan);
      this.#checkpoints = await LocalCheckpoints.open(directory, hash, files, record);
    }
    const restored = (await this.#checkpoints?.restore())?.get(fragmentName);
    this.#host = new FragmentHost({
      nodes: plan.nodes,
      settings: plan.settings,
      connectors,
      clock,
      restored,
    });
    await this.#host.open();
  }

  /** The number of the checkpoint that this run goes on from, or took last. */
  get checkpoint(): number | undefined {
    return this.#checkpoints?.last?.checkpoint;
  }

  get progress(): FragmentProgress | undefined {
    return this.#host?.progress();
  }

  get malformed(): readonly string[] {
    return this.#host?.malformedTexts ?? [];
  }

  /** Resolves when the sources have ended and the sinks have everything. */
  async run(): Promise<void> {
    const { clock, plan, commit } = this.#options;
    const next = (): void => {
      if (this.#isEnding) return;
      this.#timer = clock.after(plan.settings.checkpointIntervalMs, () => {
        this.#taking = this.#take().then(next, (thrown: unknown) => this.#fail(thrown));
      });
    };
    if (this.#checkpoints !== undefined || commit !== undefined) next();
    try {
      await this.#host?.run(() => this.#last());
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      this.#timer?.cancel();
      await this.#taking;
    }
  }

  /**
   * Reads no more, and lets everything that was read reach the sinks. With checkpoints, windows
   * stay open in the last one, so that the next run goes on as if there had been no end (SU4).
   */
  drain(): void {
    this.#host?.drain(this.#checkpoints !== undefined);
  }

  /** Ends at once; `run` resolves then, whatever was under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#host?.close();
  }

  /** A query whose checkpoints fail would repeat more and more, so it fails. */
  async #fail(thrown: unknown): Promise<void> {
    if (this.#isClosed) return;
    this.#failure = thrown;
    await this.#host?.close();
  }

  /** The checkpoint behind the last row. */
  async #last(): Promise<void> {
    this.#isEnding = true;
    this.#timer?.cancel();
    await this.#taking;
    if (this.#failure === undefined) await this.#take();
  }

  async #take(): Promise<void> {
    if (this.#host === undefined) return;
    if (this.#checkpoints === undefined) {
      await this.#options.commit?.(await this.#host.flushSinks());
      return;
    }
    const { state, durable } = this.#host.checkpoint();
    const { nodes, positions } = state;
    const encoded = encodeFragment(fragmentName, nodes, positions, this.#checkpoints.last);
    await this.#checkpoints.complete([encoded], await durable);
  }
}
