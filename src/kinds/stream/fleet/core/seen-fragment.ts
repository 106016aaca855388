/** A fragment of a query as a decision sees it: its row, and what its worker reports of it. */
import type { FragmentRow } from "../../catalog/core/index.ts";
import type { FragmentError, FragmentReport } from "./commands.ts";
import type { QueryView, WorkerView } from "./query-view.ts";

/** A fragment, as the catalog and its worker see it. */
export interface SeenFragment {
  readonly row: FragmentRow;
  readonly worker: WorkerView | undefined;
  /** `absent`: its worker answers, and does not have the fragment in this epoch. */
  readonly state: FragmentReport["state"] | "absent" | "unknown";
  readonly error: FragmentError | undefined;
}

export function lookAt(row: FragmentRow, { workers }: QueryView): SeenFragment {
  const worker = workers.get(row.worker_id);
  if (worker === undefined || !worker.isUp) {
    return { row, worker, state: "unknown", error: undefined };
  }
  const report = worker.reports.find(
    ({ fragment, epoch }) => fragment === row.fragment && epoch === row.epoch,
  );
  if (report === undefined) return { row, worker, state: "absent", error: undefined };
  return { row, worker, state: report.state, error: report.error };
}
