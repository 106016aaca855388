import { setTimeout } from "node:timers/promises";

/** Waits until `get` gives something. Generous: on a loaded machine slow is not wrong. */
export async function eventually<T>(
  what: string,
  get: () => T | undefined | Promise<T | undefined>,
  msMax = 60_000,
): Promise<T> {
  const giveUpAt = performance.now() + msMax;
  for (;;) {
    const found = await get();
    if (found !== undefined) return found;
    if (performance.now() > giveUpAt) throw new Error(`it never happened: ${what}`);
    await setTimeout(5);
  }
}
