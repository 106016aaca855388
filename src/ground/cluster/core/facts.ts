/**
 * Facts travel as deltas: the worker remembers which keys changed since the last version that every
 * session has acknowledged, the controller says with every heartbeat which version it has, and the
 * answer holds what is newer. An answer costs what changed, not what there is.
 *
 *   F1  Versions grow by one with every change and never repeat within an incarnation.
 *   F2  Whoever applies the whole map of version v, then every delta in turn, has the worker's map.
 *   F3  A change is remembered until every session has acknowledged it, and no longer.
 */
import { assert } from "../../kernel/errors.ts";
import type { Facts, FactsDelta } from "./frames.ts";

/** Keys on one worker. A worker that wants more has a bug; a controller that is told more hangs up. */
export const factsMax = 10_000;
export const factKeyPattern: RegExp = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/;
export const factValueLengthMax = 4_096;

/** The worker's side. */
export class FactsTracker {
  readonly #facts = new Map<string, string>();
  /**
   * The version of the last change of each key, in that order, back to the oldest that a session has
   * yet to acknowledge. A key that is not in `#facts` was removed.
   */
  readonly #changed = new Map<string, number>();
  #version = 0;

  get version(): number {
    return this.#version;
  }

  set(key: string, value: string): void {
    assert(factKeyPattern.test(key), `"${key}" can be the name of a fact`);
    assert(value.length <= factValueLengthMax, `the fact ${key} is short enough`);
    if (this.#facts.get(key) === value) return;
    assert(this.#facts.has(key) || this.#facts.size < factsMax, "a worker's facts are bounded");
    this.#facts.set(key, value);
    this.#change(key);
  }

  unset(key: string): void {
    if (this.#facts.delete(key)) this.#change(key);
  }

  all(): Facts {
    return Object.fromEntries(this.#facts);
  }

  /** `undefined`: nothing changed after `version`, which is not older than the last one forgotten. */
  since(version: number): FactsDelta | undefined {
    if (version >= this.#version) return undefined;
    const set: Record<string, string> = {};
    const unset: string[] = [];
    for (const [key, changedIn] of this.#changed) {
      if (changedIn <= version) continue;
      const value = this.#facts.get(key);
      if (value === undefined) unset.push(key);
      else set[key] = value;
    }
    return { version: this.#version, set, unset };
  }

  /** Every session has acknowledged `version`: the changes up to it need not be told again. */
  forget(version: number): void {
    for (const [key, changedIn] of this.#changed) {
      if (changedIn > version) return;
      this.#changed.delete(key);
    }
  }

  #change(key: string): void {
    this.#version += 1;
    this.#changed.delete(key); // So that the map is ordered by version.
    this.#changed.set(key, this.#version);
  }
}

/** The controller's side. `undefined`: that would be too many facts. */
export function applyFactsDelta(facts: Facts, delta: FactsDelta): Facts | undefined {
  const next: Record<string, string> = { ...facts, ...delta.set };
  for (const key of delta.unset) delete next[key];
  return Object.keys(next).length > factsMax ? undefined : next;
}
