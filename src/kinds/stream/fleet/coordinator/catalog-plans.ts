/** The plans of the catalog as commands for workers. A plan never changes once it is stored. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Store } from "../../../../ground/store/index.ts";
import { type StoredPlan, specsOf } from "../../catalog/core/index.ts";
import { readStoredPlan } from "../../catalog/index.ts";
import { stagesOf } from "../../run/core/index.ts";
import type { DeployedPlans } from "../reconcile/query-reconcilers.ts";

/** Where a worker's exchange listens; `undefined` while it has no session. */
export type AddressOfWorker = (workerId: string) => string | undefined;

export function createCatalogPlans(store: Store, addressOf: AddressOfWorker): DeployedPlans {
  const read = (queryId: string): Promise<StoredPlan> =>
    store.read((tx) => readStoredPlan(tx, queryId));
  return {
    plan: async (queryId) => (await read(queryId)).plan,
    async sourceFragments(queryId) {
      const { plan, fragments } = await read(queryId);
      const reading = new Set(
        stagesOf(plan).flatMap(({ id, nodes }) =>
          nodes.some(({ op }) => op.kind === "source") ? id : [],
        ),
      );
      return new Set(fragments.flatMap(({ name, stage }) => (reading.has(stage) ? name : [])));
    },
    async specs({ query, fragments }, worker) {
      return specsOf({
        plan: await read(query.query_id),
        fragments,
        worker,
        addressOf: (other) => {
          const address = addressOf(other);
          if (address !== undefined) return address;
          const message = `the address of ${other} is not known while it has no session`;
          throw new OperatingError("worker_unreachable", "backoff", message);
        },
      });
    },
  };
}
