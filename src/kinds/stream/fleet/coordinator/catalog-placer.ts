/** Places fragments again, from the catalog as the transaction sees it. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import { placeAgain, type Replacement, replaceFragments } from "../../catalog/core/index.ts";
import { readStoredPlan, readTopology, type SpeaksStreams } from "../../catalog/index.ts";
import type { Placer, Places } from "../reconcile/apply-changes.ts";
import type { QueryRows } from "../reconcile/read-query.ts";

export function createCatalogPlacer(speaks: SpeaksStreams): Placer {
  const read = async (tx: CatalogTx, { query }: QueryRows) => {
    const plan = await readStoredPlan(tx, query.query_id);
    return { plan, topology: await readTopology(tx, speaks) };
  };
  return {
    async move(tx, rows, lostWorkers) {
      const { plan, topology } = await read(tx, rows);
      return placesOf(rows, replaceFragments(plan, rows.fragments, topology, new Set(lostWorkers)));
    },
    async placeAll(tx, rows) {
      const { plan, topology } = await read(tx, rows);
      return placesOf(rows, placeAgain(plan, rows.fragments, topology));
    },
  };
}

function placesOf({ fragments }: QueryRows, placed: Replacement): Places {
  if (placed.kind === "none") throw new OperatingError("PlacementError", "backoff", placed.reason);
  const all = [...fragments, ...placed.fragments];
  return new Map(all.map(({ fragment, worker_id }) => [fragment, worker_id]));
}
