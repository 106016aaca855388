/**
 * Fragments that pass rows on, between workers that have no link with each other: along the
 * shortest way to the receiver, one for each worker on it. Every stage runs once here.
 */
import type { Plan, PlanInput, PlanNode, Stage } from "../../../language/core/index.ts";
import type { FragmentedPlan } from "../../../run/core/index.ts";
import type { Reach } from "./reach.ts";

export interface RelayedPlan {
  readonly plan: Plan;
  workerOf(stage: Stage): number;
}

/** `undefined`: there is no way with slots that are free. */
export function insertRelays(
  { plan, fragments }: FragmentedPlan,
  workers: readonly number[],
  slots: readonly number[],
  reach: Reach,
): RelayedPlan | undefined {
  const free = [...slots];
  for (const worker of workers) free[worker] = (free[worker] ?? 0) - 1;
  const senders = new Map<number, number>();
  const receivers = new Map<number, number>();
  for (const [at, { stage }] of fragments.entries()) {
    const worker = workers[at] ?? 0;
    for (const { id, op } of stage.nodes) if (op.kind !== "exchange") senders.set(id, worker);
    for (const id of stage.receives) {
      receivers.set(id, worker);
      senders.set(id, worker);
    }
  }
  const builder = new Builder(plan);
  for (const node of plan.nodes) {
    const to = node.op.kind === "exchange" ? receivers.get(node.id) : undefined;
    const from = (input: PlanInput): number => senders.get(input.node) ?? 0;
    if (to === undefined) builder.add(node, senders.get(node.id) ?? 0);
    else if (!builder.exchange(node, to, from, ways(to, reach, free), free)) return undefined;
  }
  return builder;
}

/** The next worker on the way to `to`, for each worker that has one. */
function ways(to: number, reach: Reach, free: readonly number[]): ReadonlyMap<number, number> {
  const next = new Map([[to, to]]);
  let edge = [to];
  while (edge.length > 0) {
    const further: number[] = [];
    for (const via of edge) {
      if (via !== to && (free[via] ?? 0) <= 0) continue;
      for (const worker of reach.to(via)) {
        if (next.has(worker)) continue;
        next.set(worker, via);
        further.push(worker);
      }
    }
    edge = further;
  }
  return next;
}

class Builder implements RelayedPlan {
  readonly #plan: Plan;
  readonly #nodes: PlanNode[] = [];
  /** The new places of the old nodes. */
  readonly #places = new Map<number, number>();
  /** The workers of new nodes; of an exchange the receiver. */
  readonly #workers: number[] = [];

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  get plan(): Plan {
    const { settings } = this.#plan;
    const { lateSink } = settings;
    return {
      ...this.#plan,
      nodes: this.#nodes,
      settings:
        lateSink === undefined ? settings : { ...settings, lateSink: this.#places.get(lateSink) },
    };
  }

  workerOf({ nodes }: Stage): number {
    const own = nodes.find(({ op, inputs }) => op.kind !== "exchange" || inputs.length === 0);
    return this.#workers[own?.id ?? 0] ?? 0;
  }

  add(node: PlanNode, worker: number): void {
    this.#places.set(
      node.id,
      this.#push(
        node,
        node.inputs.map((input) => this.#moved(input)),
        worker,
      ),
    );
  }

  /** The exchange with relays in front of it; `false` where a sender has no way to it. */
  exchange(
    node: PlanNode,
    to: number,
    from: (input: PlanInput) => number,
    next: ReadonlyMap<number, number>,
    free: number[],
  ): boolean {
    const arriving = new Map<number, PlanInput[]>();
    const arrive = (worker: number, input: PlanInput): boolean => {
      const via = next.get(worker);
      if (via === undefined) return false;
      const inputs = arriving.get(via);
      if (inputs === undefined) arriving.set(via, [input]);
      else inputs.push(input);
      return true;
    };
    for (const input of node.inputs) {
      if (!arrive(from(input), this.#moved(input))) return false;
    }
    for (const worker of farthestFirst(arriving, to, next)) {
      const relay = { ...node, op: { kind: "exchange", keys: [] } } as const;
      free[worker] = (free[worker] ?? 0) - 1;
      const id = this.#push(relay, arriving.get(worker) ?? [], worker);
      if (!arrive(worker, { node: id, shiftMs: 0 })) return false;
    }
    this.#places.set(node.id, this.#push(node, arriving.get(to) ?? [], to));
    return free.every((count) => count >= 0);
  }

  #moved({ node, ...input }: PlanInput): PlanInput {
    return { ...input, node: this.#places.get(node) ?? 0 };
  }

  #push(node: PlanNode, inputs: readonly PlanInput[], worker: number): number {
    const id = this.#nodes.length;
    this.#nodes.push({ ...node, id, inputs });
    this.#workers.push(worker);
    return id;
  }
}

/** The workers between senders and the receiver, each behind those that send to it. */
function farthestFirst(
  arriving: ReadonlyMap<number, unknown>,
  to: number,
  next: ReadonlyMap<number, number>,
): readonly number[] {
  const distances = new Map<number, number>();
  for (const first of arriving.keys()) {
    const way: number[] = [];
    for (let worker = first; worker !== to; worker = next.get(worker) ?? to) way.push(worker);
    for (const [at, worker] of way.entries()) distances.set(worker, way.length - at);
  }
  const between = [...distances.keys()];
  return between.sort((a, b) => (distances.get(b) ?? 0) - (distances.get(a) ?? 0) || a - b);
}
