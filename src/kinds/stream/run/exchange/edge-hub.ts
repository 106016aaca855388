/**
 * The edges of all fragments in a process, by name. Whoever mentions an edge first makes it: its
 * receiver when it opens, a sender of this process, or one that has connected. It is there as long
 * as somebody reads it; before that, and after it, as long as its sender. Names carry the query's
 * epoch, so what an earlier start still sends goes to an edge that nobody reads. Rule: SU23.
 */
import type { InEdge, OutEdge } from "../core/edge.ts";
import { createMemoryEdge, type MemoryEdge } from "./memory-edge.ts";

export interface EdgeName {
  readonly query: string;
  readonly epoch: number;
  readonly exchange: number;
  readonly from: string;
  readonly to: string;
}

export function edgePath({ query, epoch, exchange, from, to }: EdgeName): string {
  return [query, epoch, exchange, from, to].map((part) => encodeURIComponent(part)).join("/");
}

interface Entry {
  readonly path: string;
  readonly edge: MemoryEdge;
  isRead: boolean;
}

/** An edge whose sender is in another process. */
export interface ArrivingEdge extends MemoryEdge {
  /** Nothing comes of the sender any more. Idempotent. */
  over(): void;
}

export class EdgeHub {
  readonly #entries = new Map<string, Entry>();

  receive(name: EdgeName): InEdge {
    const entry = this.#entry(edgePath(name));
    entry.isRead = true;
    return {
      receive: () => entry.edge.in.receive(),
      close: () => {
        entry.edge.in.close();
        this.#remove(entry);
      },
    };
  }

  arrive(path: string): ArrivingEdge {
    const entry = this.#entry(path);
    return Object.assign(entry.edge, { over: () => this.#senderOver(entry) });
  }

  /** An edge to a fragment of the same process. */
  send(name: EdgeName): OutEdge {
    const entry = this.#entry(edgePath(name));
    const { out } = entry.edge;
    return {
      send: (frame) => out.send(frame),
      flush: () => out.flush(),
      get heldBytes() {
        return out.heldBytes;
      },
      get backlogBytes() {
        return out.backlogBytes;
      },
      close: () => {
        out.close();
        this.#senderOver(entry);
      },
    };
  }

  get count(): number {
    return this.#entries.size;
  }

  #entry(path: string): Entry {
    const known = this.#entries.get(path);
    if (known !== undefined) return known;
    const entry = { path, edge: createMemoryEdge(), isRead: false };
    this.#entries.set(path, entry);
    return entry;
  }

  #senderOver(entry: Entry): void {
    if (!entry.isRead) this.#remove(entry);
  }

  #remove(entry: Entry): void {
    if (this.#entries.get(entry.path) === entry) this.#entries.delete(entry.path);
  }
}
