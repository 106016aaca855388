/**
 * Shows rows to whoever asked for the preview, on another thread of the process. It is lossy, and
 * says so: a reader that is too slow slows the query by `patienceMs` for each batch at most, and
 * then rows are left out and counted. When it has given as many rows as were asked for, it takes no
 * more, and the query waits to be stopped. Rules: SU70, SU71.
 */
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { compileRowWriter, selectedCount } from "../../engine/core/index.ts";
import type { Schema, SinkOp } from "../../language/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";
import type { PreviewPiece } from "../preview/preview-outlets.ts";

/** Where a preview of one run gives its rows. */
export interface PreviewGiver {
  open(): Promise<unknown>;
  /** Resolves when there is room for more. One call at a time. */
  give(piece: PreviewPiece): Promise<unknown>;
  /** Resolves when the reader has everything. */
  end(): Promise<unknown>;
}

export interface PreviewWriterOptions {
  readonly op: SinkOp;
  readonly schema: Schema;
  readonly giver: PreviewGiver;
  readonly clock: Clock;
}

const pendingBytesMax = 4 * 1024 * 1024;
const patienceMs = 100;
const lineFeed = 10;

export async function openPreviewWriter(options: PreviewWriterOptions): Promise<SinkWriter> {
  await options.giver.open();
  return new PreviewWriter(options);
}

class PreviewWriter implements SinkWriter {
  readonly #options: PreviewWriterOptions;
  readonly #writer: ReturnType<typeof compileRowWriter>;
  readonly #closed = new AbortController();
  #rowsLeft: number;
  #leftOut = 0;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #giving: Promise<void> | undefined;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(options: PreviewWriterOptions) {
    this.#options = options;
    this.#writer = compileRowWriter(options.schema);
    this.#rowsLeft = Number(options.op.config.ROWS);
  }

  write(batch: Parameters<SinkWriter["write"]>[0]): Promise<void> | undefined {
    const count = selectedCount(batch);
    if (this.#failure !== undefined) throw this.#failure.thrown;
    if (count === 0) return undefined;
    if (this.#rowsLeft === 0) return this.#untilClosed();
    if (this.#pendingBytes >= pendingBytesMax) {
      this.#leftOut += count;
      return this.#patience();
    }
    const isFull = !this.#take(this.#writer.write(batch), count);
    this.#giving ??= this.#giveAll();
    if (this.#rowsLeft === 0) return this.#untilClosed();
    return isFull ? this.#patience() : undefined;
  }

  position(): undefined {
    return undefined;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  async end(): Promise<void> {
    await Promise.race([this.#endAll(), this.#untilClosed()]);
  }

  close(): Promise<void> {
    this.#closed.abort();
    return Promise.resolve();
  }

  /** As many of the rows as were asked for and fit; `false`: there is no room for more. */
  #take(lines: Uint8Array, count: number): boolean {
    const wanted = Math.min(count, this.#rowsLeft);
    const bytesMax = pendingBytesMax - this.#pendingBytes;
    let [rows, end] = [0, 0];
    while (rows < wanted) {
      const next = lines.indexOf(lineFeed, end) + 1;
      if (next > bytesMax && this.#pendingBytes + end > 0) break;
      [rows, end] = [rows + 1, next];
    }
    this.#leftOut += wanted - rows;
    this.#rowsLeft -= rows;
    this.#pending.push(lines.slice(0, end));
    this.#pendingBytes += end;
    return rows === wanted && this.#pendingBytes < pendingBytesMax;
  }

  async #giveAll(): Promise<void> {
    try {
      while (this.#pendingBytes > 0 && !this.#closed.signal.aborted) {
        const lines = Buffer.concat(this.#pending);
        this.#pending = [];
        this.#pendingBytes = 0;
        await this.#options.giver.give({ lines, leftOut: this.#leftOut });
      }
    } catch (thrown) {
      this.#failure = { thrown };
    }
    this.#giving = undefined;
  }

  async #endAll(): Promise<void> {
    await this.#giving;
    if (this.#failure !== undefined) throw this.#failure.thrown;
    const lines = new Uint8Array(0);
    if (this.#leftOut > 0) await this.#options.giver.give({ lines, leftOut: this.#leftOut });
    await this.#options.giver.end();
  }

  /** Waits until there is room, for a short time at most. */
  async #patience(): Promise<void> {
    const { signal } = this.#closed;
    await Promise.race([this.#giving, sleep(this.#options.clock, patienceMs, signal)]);
  }

  #untilClosed(): Promise<void> {
    const { signal } = this.#closed;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
