/**
 * The edges of all fragments in a process, by name. Whoever mentions an edge first makes it: its
 * receiver when it opens, a sender of this process, or one that has connected. Names carry the
 * query's epoch, so what an earlier start still sends goes to an edge that nobody reads (SU23).
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

export class EdgeHub {
  readonly #edges = new Map<string, MemoryEdge>();

  edge(path: string): MemoryEdge {
    let found = this.#edges.get(path);
    if (found === undefined) {
      found = createMemoryEdge();
      this.#edges.set(path, found);
    }
    return found;
  }

  receive(name: EdgeName): InEdge {
    const path = edgePath(name);
    const edge = this.edge(path);
    return {
      receive: () => edge.in.receive(),
      close: () => {
        edge.in.close();
        this.#edges.delete(path);
      },
    };
  }

  /** An edge to a fragment of the same process. */
  send(name: EdgeName): OutEdge {
    return this.edge(edgePath(name)).out;
  }

  get count(): number {
    return this.#edges.size;
  }
}
