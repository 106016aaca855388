/**
 * Waits for a condition instead of for a time. The time limit is generous, because slow is not
 * wrong on a loaded machine; a condition that comes true early costs nothing.
 */
import { setTimeout } from "node:timers/promises";

const msMaxDefault = 120_000;
const lookMs = 5;

/** Waits until `get` returns a value. */
export async function eventually<T>(
  what: string,
  get: () => T | undefined | Promise<T | undefined>,
  msMax = msMaxDefault,
): Promise<T> {
  const giveUpAt = performance.now() + msMax;
  for (;;) {
    const found = await get();
    if (found !== undefined) return found;
    if (performance.now() > giveUpAt) throw new Error(`it never happened: ${what}`);
    await setTimeout(lookMs);
  }
}

/** Waits until `holds` returns true. */
export async function until(holds: () => boolean, what = String(holds)): Promise<void> {
  await eventually(what, () => (holds() ? true : undefined));
}
