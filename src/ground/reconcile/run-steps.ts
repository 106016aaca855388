/** Runs a round of upkeep. RC14 */
import { AssertionError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

/** Runs the steps in order. Returns how much each did; 0 where it failed or did not run. */
export async function runSteps<Name extends string>(
  steps: Readonly<Record<Name, () => Promise<number>>>,
  { signal, logger, what }: { signal: AbortSignal; logger: Logger; what: string },
): Promise<Record<Name, number>> {
  const names = Object.keys(steps) as Name[];
  const done = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  for (const name of names) {
    if (signal.aborted) break;
    try {
      done[name] = await steps[name]();
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      if (!signal.aborted) logger.warn({ step: name, error: messageOf(thrown) }, `${what} failed`);
    }
  }
  return done;
}
