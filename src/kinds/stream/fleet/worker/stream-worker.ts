/**
 * A worker's fragments: performs what the keeper decides, on the stream threads, and tells it what
 * came of that. It computes nothing, since it is on the thread of the sessions (SD5).
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import type {
  FragmentEvents,
  FragmentProgress,
  FragmentSpec,
  ManifestFragment,
  QueryRun,
  StreamHost,
} from "../../run/core/index.ts";
import type {
  FragmentStatistics,
  RunStatistics,
  StreamCommand,
  StreamReport,
} from "../core/index.ts";
import { FragmentKeeper, type KeeperEffect, type KeeperEvent } from "../core/index.ts";
import { fragmentErrorOf } from "./fragment-error.ts";
import type { StateStorage } from "./state-storage.ts";

export interface StreamWorkerOptions {
  /** Called at the first fragment, so that a worker without any has no threads for them. */
  readonly openHost: () => StreamHost;
  readonly states: StateStorage;
  /** Puts the values of secrets in the place of their names; absent where there are none. */
  readonly resolve?: (specs: readonly FragmentSpec[]) => Promise<readonly FragmentSpec[]>;
  readonly facts: WorkerFacts;
  /** To the session that asked; what its end has overtaken is lost. */
  readonly report: (session: string, report: StreamReport) => void;
  /** To every coordinator that knows reports of this kind. */
  readonly tell: (report: StatesReport) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type StatesReport = Extract<StreamReport, { readonly kind: "states" }>;

/** `WorkerEndpoint` is one. */
export interface WorkerFacts {
  setFact(key: string, value: string): void;
  unsetFact(key: string): void;
  readonly factsVersion: number;
}

export class StreamWorker {
  readonly #options: StreamWorkerOptions;
  readonly #keeper = new FragmentKeeper();
  #host: StreamHost | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(options: StreamWorkerOptions) {
    this.#options = options;
  }

  obey(session: string, command: StreamCommand): void {
    this.#step({ kind: "command", session, command });
  }

  /** Resolves when no fragment runs here. It never ends an endless query: its owner does. */
  async whenIdle(): Promise<void> {
    while (this.#keeper.live.length > 0) await this.#changed.promise;
  }

  get isEmpty(): boolean {
    return this.#keeper.isEmpty;
  }

  /** Resolves when nothing is left here: what has ended is recorded and forgotten, too. */
  async whenEmpty(): Promise<void> {
    while (!this.#keeper.isEmpty) await this.#changed.promise;
  }

  /** Of the fragments that run. */
  async statistics(): Promise<readonly RunStatistics[]> {
    const host = this.#host;
    if (host === undefined) return [];
    return await Promise.all(
      this.#keeper.running.map(async (run) => {
        const fragments = await host.progress(run);
        return { ...run, fragments: fragments.map(statisticsOf) };
      }),
    );
  }

  #step(event: KeeperEvent): void {
    for (const effect of this.#keeper.step(event)) this.#perform(effect);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #perform(effect: KeeperEffect): void {
    const { facts, report, tell, clock } = this.#options;
    switch (effect.kind) {
      case "deploy":
        void this.#deploy(effect.run, effect.specs, effect.restore);
        break;
      case "start":
        this.#host?.start(effect.run);
        break;
      case "drain":
        this.#host?.drain(effect.run, effect.suspend);
        break;
      case "stop":
        void this.#stop(effect.run);
        break;
      case "trigger":
        this.#host?.trigger(effect.run, effect.checkpoint);
        break;
      case "completed":
        this.#host?.completed(effect.run, effect.checkpoint);
        break;
      case "store":
        void this.#store(effect);
        break;
      case "setFact":
        facts.setFact(effect.key, effect.value);
        break;
      case "unsetFact":
        facts.unsetFact(effect.key);
        break;
      case "tell": {
        const { run, fragments } = effect;
        tell({ kind: "states", ...run, fragments, factsVersion: facts.factsVersion });
        break;
      }
      case "answer": {
        const { factsVersion } = facts;
        report(effect.session, { kind: "answer", ...effect.answer, factsVersion });
        break;
      }
      case "checkpointed": {
        const { run, checkpoint, state, prepared } = effect;
        report(effect.session, { kind: "checkpointed", ...run, checkpoint, state, prepared });
        break;
      }
      case "wait":
        clock.after(effect.ms, () => this.#step({ kind: "waited", run: effect.run }));
        break;
    }
  }

  async #deploy(
    run: QueryRun,
    specs: readonly FragmentSpec[],
    restore: readonly ManifestFragment[] | undefined,
  ): Promise<void> {
    const { states, openHost, resolve, logger } = this.#options;
    try {
      const resolved = resolve === undefined ? specs : await resolve(specs);
      const restored = restore && (await states.restore(restore));
      this.#host ??= openHost();
      await this.#host.deploy(
        run,
        resolved.map((spec) => ({ ...spec, restored: restored?.get(spec.fragment) })),
        this.#eventsOf(run),
      );
    } catch (thrown) {
      const error = fragmentErrorOf(thrown);
      logger.warn({ query_id: run.query, epoch: run.epoch, code: error.code }, error.message);
      this.#step({ kind: "deployFailed", run, error });
      return;
    }
    this.#step({ kind: "deployed", run });
  }

  #eventsOf(run: QueryRun): FragmentEvents {
    return {
      acknowledged: (checkpoint, state) =>
        this.#step({ kind: "acknowledged", run, checkpoint, state }),
      ended: (fragment, { progress, state }) => {
        this.#options.logger.info(endFields(run, fragment, progress), "a fragment has ended");
        this.#step({ kind: "ended", run, state });
      },
      failed: (_, thrown) => this.#failed(run, thrown),
    };
  }

  #failed(run: QueryRun, thrown: unknown): void {
    const error = fragmentErrorOf(thrown);
    const fields = { query_id: run.query, epoch: run.epoch, code: error.code };
    this.#options.logger.warn(fields, error.message);
    this.#step({ kind: "failed", run, error });
  }

  async #stop(run: QueryRun): Promise<void> {
    await this.#host?.stop(run);
    this.#step({ kind: "stopped", run });
  }

  async #store(effect: Extract<KeeperEffect, { readonly kind: "store" }>): Promise<void> {
    const { run, checkpoint, state, previous } = effect;
    try {
      const stored = await this.#options.states.store(run, checkpoint, state, previous);
      this.#step({ kind: "stored", run, checkpoint, state: stored });
    } catch (thrown) {
      this.#failed(run, thrown);
    }
  }
}

/** What a fragment has done in all, for the log. */
function endFields(
  { query, epoch }: QueryRun,
  fragment: string,
  { sources, rowsReceived, rowsOut, lateRows }: FragmentProgress,
): Readonly<Record<string, string | number>> {
  return {
    ...{ query_id: query, epoch, fragment },
    rows_read: sources.reduce((sum, { rows }) => sum + rows, 0),
    rows_received: rowsReceived.all,
    rows_from_other_workers: rowsReceived.remote,
    ...{ rows_out: rowsOut, late_rows: lateRows },
  };
}

function statisticsOf(progress: FragmentProgress): FragmentStatistics {
  const { fragment, sources, rowsOut, rowsReceived, lateRows, stateBytes, watermark } = progress;
  const sum = (pick: (source: FragmentProgress["sources"][number]) => number): number =>
    sources.reduce((total, source) => total + pick(source), 0);
  return {
    fragment,
    rowsIn: sum(({ rows }) => rows),
    bytesIn: sum(({ bytes }) => bytes),
    malformed: sum(({ malformed }) => malformed),
    rowsOut,
    rowsReceived: rowsReceived.all,
    lateRows,
    stateBytes,
    watermarkMs: millisecondsOf(watermark),
    bytesOut: progress.bytesOut,
    busyMs: progress.busyMs,
    waitedMs: progress.waitedMs,
    edges: progress.edges.map(({ watermark: told, ...edge }) => ({
      ...edge,
      watermarkMs: millisecondsOf(told),
    })),
    slowest: progress.slowest,
  };
}

/** A time that no number holds exactly is none that a person reads. */
function millisecondsOf(watermark: bigint | undefined): number | undefined {
  const ms = watermark === undefined ? undefined : Number(watermark);
  return Number.isSafeInteger(ms) ? ms : undefined;
}
