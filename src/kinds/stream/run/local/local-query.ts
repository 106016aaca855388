/**
 * One query that is driven from this process, from its beginning or from its last checkpoint to its
 * end: it deploys the fragments of a plan on a host, and ends all of them when one fails. With a
 * checkpoint directory it takes a checkpoint every so often and a last one when it ends, so that
 * running it again does nothing twice (SU15). What sinks prepare is committed with it; without
 * checkpoints it is committed as often, and a run that is killed leaves what was committed (SU41).
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { keyGroupCount } from "../../engine/core/index.ts";
import { DialectError, hashPlan, type Plan } from "../../language/core/index.ts";
import { createCommitStore } from "../checkpoint/commit-store.ts";
import { LocalCheckpoints } from "../checkpoint/local-checkpoints.ts";
import type { CheckpointRecord, Prepared } from "../core/checkpoint-record.ts";
import type { CheckpointStore } from "../core/checkpoint-store.ts";
import type { Connectors } from "../core/connectors.ts";
import {
  cutFragments,
  type FragmentedPlan,
  specOf,
  wholeFragment,
} from "../core/plan-fragments.ts";
import { type FragmentProgress, type QueryProgress, sumProgress } from "../core/progress.ts";
import type { EndedFragment, QueryRun, StreamHost } from "../core/stream-host.ts";
import { EdgeHub } from "../exchange/edge-hub.ts";
import { HereHost } from "../host/here-host.ts";
import { unlimitedMemory } from "../host/stream-memory.ts";
import { causeOf, isEffect } from "./cause-of.ts";
import { CheckpointLoop } from "./checkpoint-loop.ts";

export interface LocalQueryOptions {
  readonly plan: Plan;
  /** Of the fragments on this thread; a host has its own. */
  readonly connectors: Connectors;
  readonly clock: Clock;
  /** Where checkpoints are; without it there are none. */
  readonly checkpoints: LocalCheckpointPlace | undefined;
  /** Commits what sinks prepared where there are no checkpoints; absent where none prepares. */
  readonly commit?: (prepared: Prepared) => Promise<void>;
  /** Who runs the fragments, and the query's name there; absent: this thread. */
  readonly host?: { readonly host: StreamHost; readonly name: string };
}

export interface LocalCheckpointPlace {
  readonly directory: string;
  readonly files: Files;
  /** By default a file in the directory, which commits nothing. */
  readonly record?: CheckpointRecord;
}

/** How long the cause of a failure may come behind its effects. */
const causeMsMax = 500;
/** Checkpoints that take longer are given up. */
const checkpointMsMax = 600_000;

export class LocalQuery {
  readonly #options: LocalQueryOptions;
  readonly #cut: FragmentedPlan;
  readonly #host: StreamHost;
  readonly #ended = new Map<string, EndedFragment>();
  readonly #failures: unknown[] = [];
  readonly #over = Promise.withResolvers<void>();
  #run: QueryRun;
  #store: CheckpointStore | undefined;
  #loop: CheckpointLoop | undefined;
  #isClosed = false;

  constructor(options: LocalQueryOptions) {
    const { plan, connectors, clock, host } = options;
    const { parallelism } = plan.settings;
    this.#options = options;
    this.#cut = parallelism === 1 ? wholeFragment(plan) : cutFragments(plan, parallelism);
    this.#host = host?.host ?? hereHost(connectors, clock);
    this.#run = { query: host?.name ?? "query", epoch: 1 };
  }

  /** Opens sources and sinks; nothing is read yet. */
  async open(): Promise<void> {
    const { checkpoints, commit } = this.#options;
    const { plan, fragments } = this.#cut;
    if (checkpoints !== undefined) {
      const { directory, files, record } = checkpoints;
      const { parallelism } = plan.settings;
      const identity = { planHash: hashPlan(plan), parallelism, keyGroups: keyGroupCount };
      this.#store = await LocalCheckpoints.open(directory, identity, files, record);
      this.#run = { ...this.#run, epoch: this.#store.epoch };
    } else if (commit !== undefined) this.#store = createCommitStore(commit);
    const restored = await this.#store?.restore();
    const specs = fragments.map((fragment) =>
      specOf(this.#cut, fragment, {
        restored: restored?.get(fragment.name),
        keepsState: checkpoints !== undefined,
        addressOf: () => undefined,
      }),
    );
    this.#loop = this.#createLoop();
    await this.#host.deploy(this.#run, specs, {
      acknowledged: (checkpoint, state) => this.#loop?.acknowledged(checkpoint, state),
      ended: (fragment, ended) => this.#fragmentEnded(fragment, ended),
      failed: (_, error) => this.#fail(error),
    });
  }

  /** The number of the checkpoint that this run goes on from, or took last. */
  get checkpoint(): number | undefined {
    return this.#store?.last?.checkpoint;
  }

  /** What all fragments have done, those that have ended included. */
  async progress(): Promise<QueryProgress> {
    const running = await this.#host.progress(this.#run);
    const parts = new Map<string, FragmentProgress>(running.map((part) => [part.fragment, part]));
    for (const [fragment, { progress }] of this.#ended) parts.set(fragment, progress);
    return sumProgress([...parts.values()]);
  }

  /** Resolves when the sources have ended and the sinks have everything. */
  async run(): Promise<void> {
    this.#loop?.start();
    this.#host.start(this.#run);
    try {
      await this.#over.promise;
      await this.#loop?.last();
      if (this.#failures.length > 0 && !this.#isClosed) throw causeOf(this.#failures);
    } finally {
      await this.#loop?.close();
      await this.#host.stop(this.#run);
    }
  }

  /**
   * Reads no more, and lets everything that was read reach the sinks. With checkpoints, windows
   * stay open in the last one, so that the next run goes on as if there had been no end (SU4).
   */
  drain(): void {
    this.#host.drain(this.#run, this.#options.checkpoints !== undefined);
  }

  /** Ends at once; `run` resolves then, whatever was under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loop?.close();
    await this.#host.stop(this.#run);
    this.#over.resolve();
  }

  #createLoop(): CheckpointLoop | undefined {
    const { clock } = this.#options;
    if (this.#store === undefined) return undefined;
    return new CheckpointLoop({
      store: this.#store,
      fragments: this.#cut.fragments.map(({ name }) => name),
      intervalMs: this.#cut.plan.settings.checkpointIntervalMs,
      timeoutMs: this.#cut.plan.settings.checkpointTimeoutMs ?? checkpointMsMax,
      clock,
      trigger: (checkpoint) => this.#host.trigger(this.#run, checkpoint),
      completed: (checkpoint) => this.#host.completed(this.#run, checkpoint),
      failed: (thrown) => this.#fail(thrown),
    });
  }

  #fragmentEnded(fragment: string, ended: EndedFragment): void {
    this.#ended.set(fragment, ended);
    this.#loop?.ended(fragment, ended.state);
    if (this.#ended.size === this.#cut.fragments.length) this.#over.resolve();
  }

  /** One failure ends all. The cause may come behind the complaints about its effects. */
  #fail(thrown: unknown): void {
    this.#failures.push(thrown);
    void this.#loop?.close();
    const end = (): void => void this.#host.stop(this.#run).then(() => this.#over.resolve());
    if (isEffect(thrown)) this.#options.clock.after(causeMsMax, end);
    else end();
  }
}

function hereHost(connectors: Connectors, clock: Clock): StreamHost {
  return new HereHost({
    connectors,
    clock,
    hub: new EdgeHub(),
    memory: unlimitedMemory(),
    sendTo: (address) => {
      throw new DialectError(4001, `this process has no exchange with ${address}`);
    },
  });
}
