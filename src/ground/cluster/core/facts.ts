/**
 * Facts travel as deltas, so that an answer costs what changed. The controller says with every
 * heartbeat which version it has, and the answer holds what is newer. The worker remembers a
 * changed key until every session has acknowledged the change.
 *
 * Versions grow by one with every change and never repeat within an incarnation. A controller that
 * applies the whole map of one version and then every delta in order has the worker's map.
 */
import { assert } from "../../kernel/errors.ts";
import type { Facts, FactsDelta } from "./frames.ts";

/** The limit of keys on one worker. A controller that is told more ends the session. */
export const factsMax = 10_000;
export const factKeyPattern: RegExp = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/;
export const factValueLengthMax = 4_096;

/** The worker's side. */
export class FactsTracker {
  readonly #facts = new Map<string, string>();
  /**
   * The version of the last change of each key, in order of version, from the oldest change that a
   * session has not acknowledged. A key that is not in `#facts` was removed.
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

  /**
   * Undefined when nothing changed after `version`. It must not be older than the last forgotten.
   */
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

  /** Forgets changes up to `version`, which every session has acknowledged. */
  forget(version: number): void {
    for (const [key, changedIn] of this.#changed) {
      if (changedIn > version) return;
      this.#changed.delete(key);
    }
  }

  #change(key: string): void {
    this.#version += 1;
    this.#changed.delete(key); // Keeps the map ordered by version.
    this.#changed.set(key, this.#version);
  }
}

/** The controller's side. Undefined when there would be too many facts. */
export function applyFactsDelta(facts: Facts, delta: FactsDelta): Facts | undefined {
  const next: Record<string, string> = { ...facts, ...delta.set };
  for (const key of delta.unset) delete next[key];
  return Object.keys(next).length > factsMax ? undefined : next;
}
