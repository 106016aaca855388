/** How fragments on stream threads reach the streams of the system, which their process has. */
import type { Asked, Handlers } from "../../../../ground/threads/index.ts";
import { DialectError } from "../../language/core/index.ts";
import type { SystemCalls, SystemRequests } from "../core/system-rows.ts";

interface SystemSide {
  readonly requests: SystemRequests;
  readonly notes: Record<never, never>;
}

/** On the thread. */
export function askSystem(owner: Pick<Asked<SystemSide>, "ask">): SystemCalls {
  return { systemRows: (asked, signal) => owner.ask("systemRows", asked, { signal }) };
}

/** In the process. */
export function systemHandlers(calls: SystemCalls | undefined): Handlers<SystemSide>["requests"] {
  return {
    systemRows: (asked, { signal }) => {
      if (calls !== undefined) return calls.systemRows(asked, signal);
      throw new DialectError(2008, "there are no streams of the system here");
    },
  };
}
