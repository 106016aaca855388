/** Puts frames together that arrive in pieces. */
import { frameKindOf, frameLength } from "../../engine/core/index.ts";

const headBytes = 8;

export class FrameAssembler {
  readonly #take: (frame: Uint8Array<ArrayBuffer>) => void;
  readonly #head = new Uint8Array(headBytes);
  #headFilled = 0;
  #frame: Uint8Array<ArrayBuffer> | undefined;
  #filled = 0;
  #hasEnded = false;

  constructor(take: (frame: Uint8Array<ArrayBuffer>) => void) {
    this.#take = take;
  }

  /** Whether the last frame said that no other follows. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#frame === undefined) {
        const count = Math.min(headBytes - this.#headFilled, chunk.length - at);
        this.#head.set(chunk.subarray(at, at + count), this.#headFilled);
        this.#headFilled += count;
        at += count;
        if (this.#headFilled < headBytes) return;
        this.#frame = new Uint8Array(frameLength(this.#head));
        this.#frame.set(this.#head);
        this.#filled = headBytes;
        this.#headFilled = 0;
      }
      const count = Math.min(this.#frame.length - this.#filled, chunk.length - at);
      this.#frame.set(chunk.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled < this.#frame.length) continue;
      const frame = this.#frame;
      this.#frame = undefined;
      const kind = frameKindOf(frame);
      if (kind === "end" || kind === "stop") this.#hasEnded = true;
      this.#take(frame);
    }
  }
}
