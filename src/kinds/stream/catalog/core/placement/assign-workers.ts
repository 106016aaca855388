/**
 * Gives each fragment a worker: within the slots that are free, and so that senders reach their
 * receivers. Among the workers that are possible it takes the one with the fewest instances of the
 * same stage, then the one with the most free slots, then the first (SC23).
 *
 * A search that decides the fragment with the fewest possible workers first, and takes away from
 * the others what that choice makes impossible. It gives up after a bounded number of choices.
 */
import { known, type Reach } from "./reach.ts";
import { WorkerSet } from "./worker-set.ts";

export interface AssignProblem {
  /** The free slots of each worker. */
  readonly slots: readonly number[];
  readonly fragments: readonly AssignFragment[];
  /** From sending stages to receiving ones. */
  readonly edges: readonly (readonly [from: number, to: number])[];
  /** `undefined`: all reach all. */
  readonly reach: Reach | undefined;
}

export interface AssignFragment {
  readonly stage: number;
  readonly allowed: WorkerSet;
  /** A fragment that stays has its slot already. */
  readonly needsSlot: boolean;
}

/** Besides one for each fragment. */
const choicesMax = 20_000;

/** The worker of each fragment; `undefined`: there is no such assignment, or none was found. */
export function assignWorkers(problem: AssignProblem): readonly number[] | undefined {
  return new Search(problem).run();
}

interface Neighbour {
  readonly stage: number;
  /** Whether the stage sends to it. */
  readonly isReceiver: boolean;
}

interface Choice {
  readonly fragment: number;
  untried: WorkerSet;
  /** The length of the trail before it. */
  readonly mark: number;
}

/** What a fragment could be on before it was narrowed. */
interface Change {
  readonly fragment: number;
  readonly before: WorkerSet;
}

class Search {
  readonly #problem: AssignProblem;
  readonly #domains: WorkerSet[];
  readonly #free: number[];
  readonly #workers: number[];
  readonly #byStage: readonly number[][];
  /** The stages that a stage sends to or receives from. */
  readonly #neighbours: readonly Neighbour[][];
  /** Instances of each stage on each worker. */
  readonly #counts: readonly Map<number, number>[];
  readonly #trail: Change[] = [];
  readonly #singles: readonly WorkerSet[];
  /** Where nothing has to be reached, the order is known in advance. */
  readonly #order: readonly number[];

  constructor(problem: AssignProblem) {
    this.#problem = problem;
    const { fragments, edges, slots } = problem;
    this.#domains = fragments.map(({ allowed }) => allowed);
    this.#free = [...slots];
    this.#workers = fragments.map(() => -1);
    const stages = 1 + fragments.reduce((most, { stage }) => Math.max(most, stage), -1);
    this.#byStage = Array.from({ length: stages }, () => []);
    for (const [place, { stage }] of fragments.entries()) this.#byStage[stage]?.push(place);
    this.#counts = this.#byStage.map(() => new Map());
    this.#neighbours = this.#byStage.map(() => []);
    for (const [from, to] of edges) {
      if (from === to) continue;
      this.#neighbours[from]?.push({ stage: to, isReceiver: true });
      this.#neighbours[to]?.push({ stage: from, isReceiver: false });
    }
    this.#singles = slots.map((_, worker) => WorkerSet.of(slots.length, [worker]));
    this.#order = [...fragments.keys()].sort(
      (one, other) => this.#countOf(one) - this.#countOf(other) || one - other,
    );
  }

  run(): readonly number[] | undefined {
    const stages = new Set(this.#byStage.keys());
    for (const [worker, free] of this.#free.entries()) {
      if (free <= 0) this.#close(worker, stages);
    }
    if (this.#domains.some(({ count }) => count === 0) || !this.#propagate(stages)) {
      return undefined;
    }
    const choices: Choice[] = [];
    let left = choicesMax + this.#domains.length;
    for (;;) {
      const fragment = this.#next(choices.length);
      if (fragment === undefined) return this.#workers;
      const untried = this.#domains[fragment] as WorkerSet;
      choices.push({ fragment, untried, mark: this.#trail.length });
      if (!this.#advance(choices, left)) return undefined;
      left -= 1;
    }
  }

  /** Makes the newest choice, or another one of an earlier choice, which then is the newest. */
  #advance(choices: Choice[], left: number): boolean {
    for (let tries = left; tries > 0; tries -= 1) {
      const choice = choices.at(-1);
      if (choice === undefined) return false;
      this.#undo(choice);
      const worker = this.#best(choice);
      if (worker === undefined) choices.pop();
      else {
        choice.untried = choice.untried.without(worker);
        if (this.#choose(choice.fragment, worker)) return true;
      }
    }
    return false;
  }

  #countOf(fragment: number): number {
    return this.#domains[fragment]?.count ?? 0;
  }

  /** The fragment with the fewest possible workers. */
  #next(depth: number): number | undefined {
    if (this.#problem.reach === undefined) return this.#order[depth];
    let best: number | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [fragment, worker] of this.#workers.entries()) {
      const count = this.#countOf(fragment);
      if (worker !== -1 || count >= least) continue;
      best = fragment;
      least = count;
    }
    return best;
  }

  #best({ fragment, untried }: Choice): number | undefined {
    const { stage, needsSlot } = this.#problem.fragments[fragment] as AssignFragment;
    const counts = this.#counts[stage] as Map<number, number>;
    let best: number | undefined;
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    for (const worker of untried) {
      const free = this.#free[worker] ?? 0;
      const count = counts.get(worker) ?? 0;
      if ((needsSlot && free <= 0) || count > least || (count === least && free <= most)) continue;
      best = worker;
      least = count;
      most = free;
    }
    return best;
  }

  /** Whether the others can still be placed. */
  #choose(fragment: number, worker: number): boolean {
    const { stage, needsSlot } = this.#problem.fragments[fragment] as AssignFragment;
    const counts = this.#counts[stage] as Map<number, number>;
    this.#workers[fragment] = worker;
    counts.set(worker, (counts.get(worker) ?? 0) + 1);
    const changed = new Set<number>([stage]);
    this.#set(fragment, this.#singles[worker] as WorkerSet);
    if (needsSlot) {
      this.#free[worker] = (this.#free[worker] ?? 0) - 1;
      if (this.#free[worker] === 0 && !this.#close(worker, changed)) return false;
    }
    return this.#propagate(changed);
  }

  #undo({ fragment, mark }: Choice): void {
    while (this.#trail.length > mark) {
      const { fragment: changed, before } = this.#trail.pop() as Change;
      this.#domains[changed] = before;
    }
    const worker = this.#workers[fragment] as number;
    if (worker === -1) return;
    const { stage, needsSlot } = this.#problem.fragments[fragment] as AssignFragment;
    const counts = this.#counts[stage] as Map<number, number>;
    this.#workers[fragment] = -1;
    counts.set(worker, (counts.get(worker) ?? 1) - 1);
    if (needsSlot) this.#free[worker] = (this.#free[worker] ?? 0) + 1;
  }

  /** No other fragment takes a slot of the worker. Adds the stages of those that could. */
  #close(worker: number, changed: Set<number>): boolean {
    let isPossible = true;
    const narrowed = new Map<WorkerSet, WorkerSet>();
    for (const [fragment, { stage, needsSlot }] of this.#problem.fragments.entries()) {
      const domain = this.#domains[fragment] as WorkerSet;
      if (!needsSlot || this.#workers[fragment] !== -1 || !domain.has(worker)) continue;
      const rest = known(narrowed, domain, () => domain.without(worker));
      this.#set(fragment, rest);
      changed.add(stage);
      if (rest.count === 0) isPossible = false;
    }
    return isPossible;
  }

  #set(fragment: number, domain: WorkerSet): void {
    this.#trail.push({ fragment, before: this.#domains[fragment] as WorkerSet });
    this.#domains[fragment] = domain;
  }

  /** Takes away the workers from which, or to which, no choice of a neighbour has a link. */
  #propagate(changed: Set<number>): boolean {
    const { reach } = this.#problem;
    if (reach === undefined) return true;
    for (const stage of changed) {
      changed.delete(stage);
      const domains = new Set(this.#byStage[stage]?.map((one) => this.#domains[one] as WorkerSet));
      for (const neighbour of this.#neighbours[stage] ?? []) {
        const masks = Array.from(domains, (domain) =>
          neighbour.isReceiver ? reach.fromAny(domain) : reach.toAny(domain),
        );
        const mask = masks.reduce((one, other) => one.and(other));
        const narrowed = new Map<WorkerSet, WorkerSet>();
        for (const fragment of this.#byStage[neighbour.stage] ?? []) {
          const domain = this.#domains[fragment] as WorkerSet;
          const both = known(narrowed, domain, () => domain.and(mask));
          if (both === domain) continue;
          this.#set(fragment, both);
          changed.add(neighbour.stage);
          if (both.count === 0) return false;
        }
      }
    }
    return true;
  }
}
