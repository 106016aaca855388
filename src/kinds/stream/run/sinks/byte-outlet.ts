/**
 * Collects bytes into blocks and writes them one after the other. A block is written when it is
 * full, or in the next turn of the event loop when nothing else is being written: so results that
 * are few do not wait for more. Whoever adds bytes is told to wait when more than two blocks wait.
 * After a failed write everything fails with its error, and it is known how many rows it concerns.
 */
import { giveWay } from "../../../../ground/kernel/node/give-way.ts";

export interface ByteTarget {
  write(bytes: Uint8Array): Promise<void>;
}

interface Block {
  readonly bytes: Uint8Array;
  /** How many of the rows that were added end in it. */
  readonly rows: number;
}

const blockBytes = 256 * 1024;
const waitingMax = 2;

export class ByteOutlet {
  readonly #target: ByteTarget;
  #block = new Uint8Array(blockBytes);
  #filled = 0;
  #filledRows = 0;
  readonly #waiting: Block[] = [];
  #writing: Promise<void> | undefined;
  #error: unknown;
  #addedBytes = 0;
  #addedRows = 0;
  #writtenRows = 0;
  /** Whether the next turn of the event loop looks for bytes to write. */
  #willLook = false;

  constructor(target: ByteTarget) {
    this.#target = target;
  }

  /** All bytes that were ever added. */
  get addedBytes(): number {
    return this.#addedBytes;
  }

  /** For the error of a failed write: what has become of the rows, as far as it is known here. */
  get fate(): string {
    const waiting = this.#addedRows - this.#writtenRows;
    return `${waiting} of the ${this.#addedRows} rows for it were not written`;
  }

  /** Copies the bytes of rows. A promise means that there is no room until it resolves. */
  add(bytes: Uint8Array, rows: number): Promise<void> | undefined {
    if (this.#error !== undefined) throw this.#error;
    this.#addedBytes += bytes.length;
    this.#addedRows += rows;
    let from = 0;
    while (from < bytes.length) {
      const count = Math.min(bytes.length - from, this.#block.length - this.#filled);
      this.#block.set(bytes.subarray(from, from + count), this.#filled);
      this.#filled += count;
      from += count;
      if (from === bytes.length) this.#filledRows += rows;
      if (this.#filled === this.#block.length) this.#seal();
    }
    this.#writeSoon();
    return this.#waiting.length > waitingMax ? this.#drain() : undefined;
  }

  #writeSoon(): void {
    if (this.#willLook || this.#filled === 0 || this.#writing !== undefined) return;
    this.#willLook = true;
    void giveWay().then(() => {
      this.#willLook = false;
      if (this.#writing === undefined && this.#error === undefined) this.#seal();
    });
  }

  /** Resolves when everything that was added before is written. */
  async flush(): Promise<void> {
    this.#seal();
    await this.#drain();
  }

  #seal(): void {
    if (this.#filled === 0) return;
    // A few bytes are copied, since a new block for each of them would cost more.
    const isFew = this.#filled * 4 < blockBytes;
    const bytes = isFew
      ? this.#block.slice(0, this.#filled)
      : this.#block.subarray(0, this.#filled);
    if (!isFew) this.#block = new Uint8Array(blockBytes);
    this.#waiting.push({ bytes, rows: this.#filledRows });
    this.#filled = 0;
    this.#filledRows = 0;
    if (this.#writing === undefined) {
      this.#writing = this.#writeAll();
      this.#writing.catch(() => undefined); // Whoever adds or flushes next meets the error.
    }
  }

  async #drain(): Promise<void> {
    await this.#writing;
    if (this.#error !== undefined) throw this.#error;
  }

  async #writeAll(): Promise<void> {
    try {
      for (let block = this.#waiting.shift(); block !== undefined; block = this.#waiting.shift()) {
        await this.#target.write(block.bytes);
        this.#writtenRows += block.rows;
      }
      this.#writing = undefined;
      this.#writeSoon();
    } catch (thrown) {
      this.#error = thrown;
      this.#writing = undefined;
      throw thrown;
    }
  }
}
