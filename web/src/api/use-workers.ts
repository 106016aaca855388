import { useMemo } from "react";
import { useClusterState } from "./cluster.ts";
import { workersOf } from "./cluster-state.ts";
import type { Worker } from "./gen/types.ts";

/** All workers, live; `undefined` while nothing has arrived yet. */
export function useWorkers(): readonly Worker[] | undefined {
  const state = useClusterState((current) => current);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only these two parts of the state decide.
  return useMemo(() => workersOf(state), [state.rows, state.live]);
}
