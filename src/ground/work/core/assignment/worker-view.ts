/**
 * The workers that are up, as one controller sees them, and which could take work now. Replicas may
 * see the fleet differently for a while, which costs warm caches but no correctness.
 */
import type { Admission } from "../../../cluster/core/index.ts";
import { assert } from "../../../kernel/errors.ts";
import type { Incarnation, WorkerId } from "../../../kernel/ids.ts";
import type { WorkerOnBoard } from "./board-messages.ts";
import { affinityScore, hashText, type TextHash } from "./rendezvous.ts";

export interface ViewedWorker<Item> {
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  readonly affinity: TextHash;
  /** All items on the worker, including executed ones. */
  readonly holds: Set<Item>;
  /** Of those, the number that is not executed yet. */
  load: number;
  admission: Admission;
  rejecting: boolean;
}

export class WorkerView<Item> {
  readonly #worksPerWorkerMax: number;
  readonly #workers = new Map<WorkerId, ViewedWorker<Item>>();
  readonly #eligible = new Set<ViewedWorker<Item>>();

  constructor(worksPerWorkerMax: number) {
    this.#worksPerWorkerMax = worksPerWorkerMax;
  }

  get eligibleCount(): number {
    return this.#eligible.size;
  }

  /** Undefined when the worker is down. */
  get(workerId: WorkerId): ViewedWorker<Item> | undefined {
    return this.#workers.get(workerId);
  }

  add(workerId: WorkerId, incarnation: Incarnation, admission: Admission): void {
    assert(!this.#workers.has(workerId), `${workerId} is up once`);
    const worker: ViewedWorker<Item> = {
      workerId,
      incarnation,
      affinity: hashText(workerId),
      holds: new Set(),
      load: 0,
      admission,
      rejecting: false,
    };
    this.#workers.set(workerId, worker);
    this.#refresh(worker);
  }

  remove(worker: ViewedWorker<Item>): void {
    this.#workers.delete(worker.workerId);
    this.#eligible.delete(worker);
  }

  /** The worker reported its admission, which replaces its earlier rejections. */
  admit(worker: ViewedWorker<Item>, admission: Admission): void {
    worker.admission = admission;
    worker.rejecting = false;
    this.#refresh(worker);
  }

  reject(worker: ViewedWorker<Item>): void {
    worker.rejecting = true;
    this.#refresh(worker);
  }

  forgetRejections(): void {
    for (const worker of this.#workers.values()) this.admit(worker, worker.admission);
  }

  hold(worker: ViewedWorker<Item>, item: Item, load: 0 | 1): void {
    worker.holds.add(item);
    worker.load += load;
    this.#refresh(worker);
  }

  release(worker: ViewedWorker<Item>, item: Item, load: 0 | 1): void {
    worker.holds.delete(item);
    worker.load -= load;
    this.#refresh(worker);
  }

  /**
   * Chooses the planner's worker if it is eligible, or else the eligible worker with the highest
   * score; workers to avoid come last. At least one must be eligible. `affinityHit`: it is the
   * planner's choice or, without one, no worker that is up has a higher score.
   */
  choose(
    key: TextHash,
    avoid: readonly WorkerId[],
    preferred: WorkerId | undefined,
  ): { readonly workerId: WorkerId; readonly affinityHit: boolean } {
    const choice = preferred === undefined ? undefined : this.#workers.get(preferred);
    if (choice !== undefined && this.#eligible.has(choice) && !avoid.includes(choice.workerId)) {
      return { workerId: choice.workerId, affinityHit: true };
    }
    let favourite: ViewedWorker<Item> | undefined; // Of all that are up.
    let favouriteScore = -1;
    let best: ViewedWorker<Item> | undefined; // Of the eligible.
    let bestScore = -1;
    let bestAvoided = true;
    for (const worker of this.#workers.values()) {
      const score = affinityScore(key, worker.affinity);
      if (isBetter(score, worker, favouriteScore, favourite)) {
        favourite = worker;
        favouriteScore = score;
      }
      if (!this.#eligible.has(worker)) continue;
      const avoided = avoid.includes(worker.workerId);
      const outranks =
        avoided === bestAvoided ? isBetter(score, worker, bestScore, best) : bestAvoided;
      if (!outranks) continue;
      best = worker;
      bestScore = score;
      bestAvoided = avoided;
    }
    assert(best !== undefined, "there is an eligible worker");
    return { workerId: best.workerId, affinityHit: best === (choice ?? favourite) };
  }

  show(): readonly WorkerOnBoard[] {
    return Array.from(this.#workers.values(), (worker) => {
      const { workerId, incarnation, admission, rejecting, load } = worker;
      return { workerId, incarnation, admission, rejecting, load };
    });
  }

  /** WC11, WC14, WC20. */
  #refresh(worker: ViewedWorker<Item>): void {
    const { accepting, draining } = worker.admission;
    const hasRoom = worker.load < this.#worksPerWorkerMax;
    if (accepting && !draining && !worker.rejecting && hasRoom) this.#eligible.add(worker);
    else this.#eligible.delete(worker);
  }
}

/** A tie goes to the smaller id, so that the order in which workers came up does not matter. */
function isBetter(
  score: number,
  worker: { readonly workerId: WorkerId },
  thanScore: number,
  than: { readonly workerId: WorkerId } | undefined,
): boolean {
  if (than === undefined || score !== thanScore) return score > thanScore;
  return worker.workerId < than.workerId;
}
