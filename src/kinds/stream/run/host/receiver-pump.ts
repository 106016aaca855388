/**
 * Moves what one sender sends into a fragment. A barrier holds this sender back until the barriers
 * of all senders are there: what comes before it is in the checkpoint, what comes behind is not
 * (SU20).
 */

import { decodeFrame, type FragmentInput, type Frame } from "../../engine/core/index.ts";
import { DialectError, type TypeName } from "../../language/core/index.ts";
import type { InEdge } from "../core/edge.ts";
import type { Turn } from "./fair-turns.ts";
import type { Labour } from "./fragment-figures.ts";

export interface ReceiverPumpParts {
  readonly edge: InEdge;
  readonly types: readonly TypeName[];
  readonly input: FragmentInput;
  readonly labour: Labour;
  readonly turn: Turn;
  /** Resolves when the checkpoint was taken that this sender's barrier belongs to. */
  readonly aligned: (checkpoint: number) => Promise<void>;
  readonly room: () => Promise<void> | undefined;
}

export class ReceiverPump {
  readonly #parts: ReceiverPumpParts;
  #rowsReceived = 0;
  #isSuspended = false;

  constructor(parts: ReceiverPumpParts) {
    this.#parts = parts;
  }

  get isRemote(): boolean {
    return this.#parts.edge.isRemote === true;
  }

  get rowsReceived(): number {
    return this.#rowsReceived;
  }

  /** Whether the sender stopped without having ended. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  close(): void {
    this.#parts.edge.close();
  }

  /** Resolves when the sender has ended or stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { edge, types, labour, turn, aligned, room } = this.#parts;
    while (!signal.aborted) {
      const bytes = await edge.receive();
      if (signal.aborted) return;
      if (bytes === undefined) throw new DialectError(4001, "the sender of an exchange is gone");
      labour.begin();
      const frame = decodeFrame(bytes, types);
      this.#take(frame);
      labour.end();
      if (frame.kind === "stop" || frame.kind === "end") return;
      if (frame.kind === "barrier") await aligned(frame.checkpoint);
      await room();
      await turn.giveWay();
    }
  }

  #take(frame: Frame): void {
    const { input } = this.#parts;
    switch (frame.kind) {
      case "rows":
        this.#rowsReceived += frame.batch.rowCount;
        input.push(frame.batch);
        break;
      case "watermark":
        input.watermark(frame.time);
        break;
      case "idle":
        input.idle();
        break;
      case "stop":
        this.#isSuspended = true;
        break;
      case "end":
        input.end();
        break;
      case "barrier":
        break;
    }
  }
}
