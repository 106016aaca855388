/** The accounts of what a fragment holds outside of its operators: read buffers and edges. */
import type { MemoryAccount, QueryMemory } from "../../engine/core/index.ts";
import type { OutEdge } from "../core/edge.ts";
import type { SourcePump } from "./source-pump.ts";

/** What a source reads ahead, and what it has given to the parser. */
const buffersOfSource = 2;

export class BufferMemory {
  readonly #bufferBytes: number;
  readonly #sources: MemoryAccount;
  readonly #edges: MemoryAccount;

  constructor(memory: QueryMemory, bufferBytes: number) {
    this.#bufferBytes = bufferBytes;
    const account = (description: string): MemoryAccount =>
      memory.accountOf({ stateBytes: 0, description });
    this.#sources = account("what was read of a source and not yet processed");
    this.#edges = account("what waits for other fragments");
  }

  count(sources: Iterable<SourcePump>, edges: readonly OutEdge[]): void {
    let read = 0;
    for (const { pendingBytes } of sources) {
      read += buffersOfSource * this.#bufferBytes + pendingBytes;
    }
    let waiting = 0;
    for (const { heldBytes } of edges) waiting += heldBytes;
    this.#sources.set(read);
    this.#edges.set(waiting);
  }
}
