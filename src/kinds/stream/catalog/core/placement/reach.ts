/**
 * Which worker can send to which. Links are directed. A worker without any link reaches all and is
 * reached by all; one with links only along them, and every worker itself (SC17).
 */
import type { Topology } from "../planner.ts";
import { WorkerSet } from "./worker-set.ts";

export class Reach {
  readonly size: number;
  readonly #to: readonly WorkerSet[];
  readonly #from: readonly WorkerSet[];
  readonly #allFrom = new Map<WorkerSet, WorkerSet>();
  readonly #allTo = new Map<WorkerSet, WorkerSet>();

  constructor(to: readonly WorkerSet[]) {
    this.size = to.length;
    this.#to = to;
    const from = to.map((): number[] => []);
    for (const [sender, receivers] of to.entries()) {
      for (const receiver of receivers) from[receiver]?.push(sender);
    }
    this.#from = from.map((senders) => WorkerSet.of(to.length, senders));
  }

  /** Whom the worker sends to, itself included. */
  from(worker: number): WorkerSet {
    return this.#to[worker] ?? WorkerSet.of(this.size, []);
  }

  /** Who sends to the worker, itself included. */
  to(worker: number): WorkerSet {
    return this.#from[worker] ?? WorkerSet.of(this.size, []);
  }

  /** Whom at least one of these sends to. */
  fromAny(workers: WorkerSet): WorkerSet {
    return known(this.#allFrom, workers, () => this.#union(workers, (one) => this.from(one)));
  }

  /** Who sends to at least one of these. */
  toAny(workers: WorkerSet): WorkerSet {
    return known(this.#allTo, workers, () => this.#union(workers, (one) => this.to(one)));
  }

  /** Along any number of links, with these workers between. */
  along(relays: WorkerSet): Reach {
    return new Reach(
      this.#to.map((first) => {
        let reached = first;
        for (;;) {
          const next = this.fromAny(reached.and(relays));
          const both = WorkerSet.union(this.size, [reached, next]);
          if (both.count === reached.count) return reached;
          reached = both;
        }
      }),
    );
  }

  #union(workers: WorkerSet, each: (worker: number) => WorkerSet): WorkerSet {
    return WorkerSet.union(this.size, Array.from(workers, each));
  }
}

/** The value of the key, made at the first time. */
export function known<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

/** `undefined`: nobody has a link, so all reach all. */
export function reachOf({ workers, links }: Topology): Reach | undefined {
  if (links.length === 0) return undefined;
  const size = workers.length;
  const places = new Map(workers.map(({ workerId }, place) => [workerId, place]));
  const targets = workers.map((_, place) => [place]);
  const linked = new Set<number>();
  for (const { from, to } of links) {
    const [sender, receiver] = [places.get(from), places.get(to)];
    if (sender !== undefined) linked.add(sender);
    if (receiver !== undefined) linked.add(receiver);
    if (sender !== undefined && receiver !== undefined) targets[sender]?.push(receiver);
  }
  const all = WorkerSet.of(size, workers.keys());
  const free = WorkerSet.of(
    size,
    [...workers.keys()].filter((place) => !linked.has(place)),
  );
  return new Reach(
    targets.map((own, place) =>
      free.has(place) ? all : WorkerSet.union(size, [free, WorkerSet.of(size, own)]),
    ),
  );
}
