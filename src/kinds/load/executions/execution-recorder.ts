/**
 * Takes executions from the hot path and passes them on in batches. It never waits and never grows:
 * what does not fit is dropped and counted, so that a slow lake makes records incomplete and never
 * a run slow.
 *
 *   1  Of every `oneIn` executions one is recorded.
 *   2  At most `batchesMax` buffers are under way besides the one that is filled.
 *   3  `recorded` = `written` + `lost` + what is under way.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Executed } from "../generator/load-generator.ts";
import { type ExecutionBatch, ExecutionBuffer } from "./execution-buffer.ts";

/** The number of earlier rows, and the store's time when the process's clock was 0. */
export interface BatchPlace {
  readonly first: number;
  readonly originMs: number;
}

export interface ExecutionSink {
  /**
   * Resolves with the batch, for reuse, when its rows are in the lake. Rejects when they cannot be
   * written.
   */
  write(batch: ExecutionBatch, at: BatchPlace): Promise<ExecutionBatch>;
  /** Gives up pending writes. */
  close(): Promise<void>;
}

export interface ExecutionRecorderOptions {
  readonly sink: ExecutionSink;
  readonly oneIn: number;
  /** Called for every batch: the estimate of the store's clock improves and drifts. */
  readonly originMs: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly capacity?: number;
  readonly flushMs?: number;
  readonly batchesMax?: number;
}

export interface RecorderFigures {
  readonly recorded: number;
  readonly written: number;
  /** Executions dropped for lack of room. */
  readonly dropped: number;
  /** Executions that could not be written. */
  readonly lost: number;
}

const defaults = { capacity: 65_536, flushMs: 5_000, batchesMax: 3 };

export class ExecutionRecorder {
  readonly #options: Required<ExecutionRecorderOptions>;
  readonly #writing = new Set<Promise<void>>();
  /** Finished batches, for reuse. */
  readonly #spare: ExecutionBatch[] = [];
  #buffer: ExecutionBuffer;
  #timer: Timer | undefined;
  #seen = 0;
  #recorded = 0;
  #sent = 0;
  #written = 0;
  #dropped = 0;
  #lost = 0;

  constructor(options: ExecutionRecorderOptions) {
    this.#options = { ...defaults, ...options };
    this.#buffer = new ExecutionBuffer(this.#options.capacity);
    this.#arm();
  }

  get figures(): RecorderFigures {
    return {
      recorded: this.#recorded,
      written: this.#written,
      dropped: this.#dropped,
      lost: this.#lost,
    };
  }

  record(executed: Executed): void {
    this.#seen += 1;
    if (this.#seen % this.#options.oneIn !== 0) return;
    if (!this.#buffer.add(executed)) {
      this.#flush();
      if (!this.#buffer.add(executed)) {
        this.#dropped += 1;
        return;
      }
    }
    this.#recorded += 1;
  }

  /** Writes the rest and waits for all writes, at most `timeoutMs`. Records nothing afterwards. */
  async finish(timeoutMs: number): Promise<void> {
    this.#timer?.cancel();
    const { clock, sink, logger } = this.#options;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = clock.after(timeoutMs, resolve);
    while (this.#buffer.count > 0 && !this.#flush()) {
      await Promise.race([late, ...this.#writing]);
      if (this.#writing.size >= this.#options.batchesMax) break; // The time limit was reached.
    }
    await Promise.race([late, Promise.all(this.#writing)]);
    timer.cancel();
    await sink.close();
    await Promise.all(this.#writing);
    this.#lost += this.#buffer.count;
    const { recorded, written, dropped, lost } = this.figures;
    if (dropped + lost > 0) {
      logger.warn({ recorded, written, dropped, lost }, "some executions are not in the lake");
    }
  }

  #arm(): void {
    this.#timer = this.#options.clock.after(this.#options.flushMs, () => {
      this.#flush();
      this.#arm();
    });
  }

  /** Returns `false` when too many batches are being written. */
  #flush(): boolean {
    const { batchesMax, capacity } = this.#options;
    if (this.#buffer.count === 0) return true;
    if (this.#writing.size >= batchesMax) return false;
    const batch = this.#buffer.take();
    this.#buffer = new ExecutionBuffer(capacity, this.#spare.pop());
    const writing = this.#write(batch, this.#sent).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    this.#sent += batch.rowCount;
    return true;
  }

  async #write(batch: ExecutionBatch, first: number): Promise<void> {
    const { rowCount } = batch;
    try {
      this.#spare.push(
        await this.#options.sink.write(batch, { first, originMs: this.#options.originMs() }),
      );
      this.#written += rowCount;
    } catch (thrown) {
      this.#lost += rowCount;
      this.#options.logger.warn(
        { rows: rowCount, error: messageOf(thrown) },
        "executions are lost",
      );
    }
  }
}
