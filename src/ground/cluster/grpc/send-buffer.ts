import { BoundedQueue } from "../../kernel/bounded-queue.ts";

export interface SendBufferLimits {
  readonly framesMax: number;
  readonly bytesMax: number;
}

/** Frames that wait to be written to a stream, limited in number and bytes. One consumer. */
export class SendBuffer<T> implements AsyncIterable<T> {
  readonly #queue: BoundedQueue<{ readonly item: T; readonly bytes: number }>;
  readonly #bytesMax: number;
  #bytes = 0;

  constructor({ framesMax, bytesMax }: SendBufferLimits) {
    this.#queue = new BoundedQueue(framesMax);
    this.#bytesMax = bytesMax;
  }

  /** Returns false when full or ended. An item of any size fits an empty buffer. */
  push(item: T, bytes: number): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) return false;
    if (!this.#queue.push({ item, bytes })) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Items inside are still handed out. */
  end(): void {
    this.#queue.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for await (const { item, bytes } of this.#queue) {
      this.#bytes -= bytes;
      yield item;
    }
  }
}
