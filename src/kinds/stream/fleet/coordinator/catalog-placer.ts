/** Places fragments again, from the catalog as the transaction sees it. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { placeAgain, replaceFragments } from "../../catalog/core/index.ts";
import { readStoredPlan, readTopology } from "../../catalog/index.ts";
import type { Placer } from "../reconcile/apply-changes.ts";

export const catalogPlacer: Placer = {
  async place(tx, { query, fragments }, lostWorkers) {
    const [plan, topology] = [await readStoredPlan(tx, query.query_id), await readTopology(tx)];
    const placed =
      query.state === "PAUSED"
        ? placeAgain(plan, fragments, topology)
        : replaceFragments(plan, fragments, topology, new Set(lostWorkers));
    if (placed.kind === "none") {
      throw new OperatingError("PlacementError", "backoff", placed.reason);
    }
    const moved = new Map(placed.fragments.map((each) => [each.fragment, each.worker_id]));
    return new Map(
      fragments.map(({ fragment, worker_id }) => [fragment, moved.get(fragment) ?? worker_id]),
    );
  },
};
