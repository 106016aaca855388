/** How fragments on stream threads reach the lake, which is the process's. */
import { assert } from "../../../../ground/kernel/errors.ts";
import type { Asked, Handlers } from "../../../../ground/threads/index.ts";
import type { LakeCalls, LakeRequests } from "../lake/fragment-lake.ts";

interface LakeSide {
  readonly requests: LakeRequests;
  readonly notes: Record<never, never>;
}

/** On the thread. */
export function askLake(owner: Pick<Asked<LakeSide>, "ask">): LakeCalls {
  return {
    lakeSnapshot: (none, signal) => owner.ask("lakeSnapshot", none, { signal }),
    lakeTable: (name, signal) => owner.ask("lakeTable", name, { signal }),
    lakeVersion: (at, signal) => owner.ask("lakeVersion", at, { signal }),
    lakeChanges: (range, signal) => owner.ask("lakeChanges", range, { signal }),
    lakeCut: (wanted, signal) => owner.ask("lakeCut", wanted, { signal }),
    lakeSpoolAdded: (wanted, signal) => owner.ask("lakeSpoolAdded", wanted, { signal }),
    lakeSpoolTable: (wanted, signal) => owner.ask("lakeSpoolTable", wanted, { signal }),
    lakeSinkTable: (wanted, signal) => owner.ask("lakeSinkTable", wanted, { signal }),
    lakePut: (file, signal) => owner.ask("lakePut", file, { signal }),
  };
}

/** In the process. A thread that was not told of a lake asks for none. */
export function lakeHandlers(calls: LakeCalls | undefined): Handlers<LakeSide>["requests"] {
  const lake = (): LakeCalls => {
    assert(calls !== undefined, "a thread that asks for the lake was told that there is one");
    return calls;
  };
  return {
    lakeSnapshot: (none, { signal }) => lake().lakeSnapshot(none, signal),
    lakeTable: (name, { signal }) => lake().lakeTable(name, signal),
    lakeVersion: (at, { signal }) => lake().lakeVersion(at, signal),
    lakeChanges: (range, { signal }) => lake().lakeChanges(range, signal),
    lakeCut: (wanted, { signal }) => lake().lakeCut(wanted, signal),
    lakeSpoolAdded: (wanted, { signal }) => lake().lakeSpoolAdded(wanted, signal),
    lakeSpoolTable: (wanted, { signal }) => lake().lakeSpoolTable(wanted, signal),
    lakeSinkTable: (wanted, { signal }) => lake().lakeSinkTable(wanted, signal),
    lakePut: (file, { signal }) => lake().lakePut(file, signal),
  };
}
