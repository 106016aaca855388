/**
 * A process for another purpose under the engine's bounds: the kernel's limit, a look at its memory
 * every 50 ms, and an end for requests that ignore cancellation. It runs what `module` serves
 * (ground/threads). Nothing is run again; the caller decides that.
 */
import type { Clock } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { Logger } from "../../ground/kernel/logger.ts";
import {
  type AnswerOf,
  type ArgumentOf,
  canBoundMemory,
  type RequestOf,
  type Side,
} from "../../ground/threads/index.ts";
import { kernelBytesOf, type MemoryLimits } from "./core/index.ts";
import { EngineChild, type Loss, ProcessLost } from "./engine-child.ts";
import { EngineWatch } from "./engine-watch.ts";
import { spawnEngine } from "./spawn-engine.ts";

export interface BoundedProcessOptions extends MemoryLimits {
  readonly module: URL;
  /** The number of native threads, and of concurrent libuv calls. */
  readonly threads: number;
  readonly connections: number;
  /** Memory reserved by threads that run JavaScript: see `MemoryBound`. */
  readonly scriptBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class BoundedProcess<Far extends Side> {
  readonly #child: EngineChild<Far>;
  readonly #watch: EngineWatch;
  readonly #engineBytesMax: number;

  constructor(options: BoundedProcessOptions, open: unknown) {
    const { module, threads, connections, scriptBytes, clock, logger } = options;
    const spawned = spawnEngine({
      module,
      memoryBytesMax: kernelBytesOf(options),
      connections,
      threads,
      scriptBytes,
      bounded: canBoundMemory,
    });
    this.#engineBytesMax = options.engineBytesMax;
    this.#child = new EngineChild<Far>(spawned, open, clock, undefined);
    this.#watch = new EngineWatch(options, clock, () => ({
      shared: this.#child,
      alone: undefined,
    }));
    void this.#child.exited.then(() => {
      const { loss } = this.#child;
      if (loss === undefined || loss.kind === "closed") return;
      logger.warn({ reason: loss.kind }, `a bounded process is gone: ${loss.message}`);
    });
  }

  /** Whether it takes no more requests. */
  get lost(): boolean {
    return this.#child.lost;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Rejects with `statement_too_large` or `query_failed` when the process is lost. */
  async ask<N extends RequestOf<Far>>(
    name: N,
    argument: ArgumentOf<Far, N>,
    signal?: AbortSignal,
  ): Promise<AnswerOf<Far, N>> {
    this.#watch.start();
    const { result } = await this.#child.withJob({}, async (job) => {
      await this.#child.ready;
      return await this.#child.ask(job, name, argument, signal);
    });
    try {
      return await result;
    } catch (thrown) {
      throw thrown instanceof ProcessLost ? this.#errorOf(thrown.loss) : thrown;
    }
  }

  /** Interrupts what runs, and kills what does not stop soon. */
  async end(): Promise<void> {
    await this.#child.end();
    await this.#child.removed;
  }

  #errorOf({ kind, message }: Loss): OperatingError {
    if (kind === "memory") {
      const limit = Math.round(this.#engineBytesMax / 1024 ** 2);
      return new OperatingError(
        "statement_too_large",
        "never",
        `it takes more memory than the ${limit} MiB that it may take here, and was stopped`,
      );
    }
    if (kind === "closed") return new OperatingError("shutting_down", "never", "it was closed");
    return new OperatingError("query_failed", "never", `its process ended: ${message}`);
  }
}
