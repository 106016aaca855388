import { useMemo } from "react";
import { useWorkers } from "../../../api/use-workers.ts";

/** The workers that cannot be reached at this moment. */
export function useLostWorkers(): ReadonlySet<string> {
  const workers = useWorkers();
  return useMemo(() => {
    const lost = (workers ?? []).filter(({ state }) => state === "UNREACHABLE");
    return new Set(lost.map(({ worker_id }) => worker_id));
  }, [workers]);
}
