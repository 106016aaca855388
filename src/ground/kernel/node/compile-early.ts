/**
 * Lets V8 optimize sooner for a while (PR19). By its defaults a function is optimized after 400
 * calls at the earliest, and 500 calls after it last saw something new; a query calls most of the
 * functions on its way once. The flags belong to the whole process, its threads included.
 */
import { setFlagsFromString } from "node:v8";

/** Fewer than the rehearsals of each worker (QP37). */
const callsEarly = 30;
/** V8's own. */
const defaults = { calls: 400, callsAfterNews: 500 } as const;

export function compileEarly(isEarly: boolean): void {
  const calls = isEarly ? callsEarly : defaults.calls;
  const callsAfterNews = isEarly ? callsEarly : defaults.callsAfterNews;
  setFlagsFromString(`--invocation-count-for-maglev=${calls}`);
  setFlagsFromString(`--minimum-invocations-after-ic-update=${callsAfterNews}`);
}
