/**
 * Facts travel as deltas: the worker remembers in which version each key last changed, the controller says
 * with every heartbeat which version it has, and the answer holds what is newer.
 *
 *   F1  Versions grow by one with every change and never repeat within an incarnation.
 *   F2  Whoever applies the whole map of version v, then every delta in turn, has the worker's map.
 *   F3  A removal is remembered until every session has acknowledged it, and no longer.
 */
import { assert } from "../../kernel/errors.ts";
import type { Facts, FactsDelta } from "./frames.ts";

/** Keys on one worker. A worker that wants more has a bug; a controller that is told more hangs up. */
export const factsMax = 10_000;
export const factKeyPattern: RegExp = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/;
export const factValueLengthMax = 4_096;

/** The worker's side. */
export class FactsTracker {
  readonly #facts = new Map<string, { readonly value: string; readonly version: number }>();
  readonly #removals = new Map<string, number>();
  #version = 0;

  get version(): number {
    return this.#version;
  }

  /** `false`: it was so already. */
  set(key: string, value: string): boolean {
    assert(factKeyPattern.test(key), `"${key}" can be the name of a fact`);
    assert(value.length <= factValueLengthMax, `the fact ${key} is short enough`);
    if (this.#facts.get(key)?.value === value) return false;
    assert(this.#facts.has(key) || this.#facts.size < factsMax, "a worker's facts are bounded");
    this.#version += 1;
    this.#facts.set(key, { value, version: this.#version });
    this.#removals.delete(key);
    return true;
  }

  /** `false`: there was no such fact. */
  unset(key: string): boolean {
    if (!this.#facts.delete(key)) return false;
    this.#version += 1;
    this.#removals.set(key, this.#version);
    return true;
  }

  all(): Facts {
    return Object.fromEntries([...this.#facts].map(([key, fact]) => [key, fact.value]));
  }

  /** `undefined`: nothing changed after `version`. */
  since(version: number): FactsDelta | undefined {
    if (version >= this.#version) return undefined;
    const changed = [...this.#facts].filter(([, fact]) => fact.version > version);
    const removed = [...this.#removals].filter(([, removedIn]) => removedIn > version);
    return {
      version: this.#version,
      set: Object.fromEntries(changed.map(([key, fact]) => [key, fact.value])),
      unset: removed.map(([key]) => key),
    };
  }

  /** Every session has acknowledged `version`: the removals up to it need not be told again. */
  forgetRemovals(version: number): void {
    for (const [key, removedIn] of this.#removals) {
      if (removedIn <= version) this.#removals.delete(key);
    }
  }
}

/** The controller's side. `undefined`: that would be too many facts. */
export function applyFactsDelta(facts: Facts, delta: FactsDelta): Facts | undefined {
  const next: Record<string, string> = { ...facts, ...delta.set };
  for (const key of delta.unset) delete next[key];
  return Object.keys(next).length > factsMax ? undefined : next;
}
