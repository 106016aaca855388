/**
 * Waiting for a condition instead of for a time. The end is generous: on a loaded machine slow is
 * not wrong, and a condition that comes true soon costs nothing.
 */
import { setTimeout } from "node:timers/promises";

const msMaxDefault = 120_000;
const lookMs = 5;

/** Waits until `get` gives something. */
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

/** Waits until it holds. */
export async function until(holds: () => boolean, what = String(holds)): Promise<void> {
  await eventually(what, () => (holds() ? true : undefined));
}
