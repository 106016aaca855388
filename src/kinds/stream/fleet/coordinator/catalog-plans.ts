/** The plans of the catalog as commands for workers. A plan never changes once it is stored. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Store } from "../../../../ground/store/index.ts";
import { type StoredPlan, specsOf } from "../../catalog/core/index.ts";
import { readStoredPlan } from "../../catalog/index.ts";
import { type PlanNode, systemType } from "../../language/core/index.ts";
import { stagesOf } from "../../run/core/index.ts";
import type { DeployedPlans } from "../reconcile/query-reconcilers.ts";

/** Where a worker's exchange listens; `undefined` while it has no session. */
export type AddressOfWorker = (workerId: string) => string | undefined;

/** `ownAddress` is where this coordinator gives its streams; absent where it gives none. */
export function createCatalogPlans(
  store: Store,
  addressOf: AddressOfWorker,
  ownAddress?: string,
): DeployedPlans {
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
        plan: withCoordinator(await read(query.query_id), ownAddress),
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

/**
 * Sources that read streams of the coordinator are told where it is: they are deployed anew by the
 * next one (SD84). What is stored has no address.
 */
function withCoordinator(stored: StoredPlan, address: string | undefined): StoredPlan {
  if (address === undefined) return stored;
  const nodes = stored.plan.nodes.map((node): PlanNode => {
    const { op } = node;
    if (op.kind !== "source" || op.type !== systemType || "PLACEMENT" in op.config) return node;
    return { ...node, op: { ...op, config: { ...op.config, COORDINATOR: address } } };
  });
  return { ...stored, plan: { ...stored.plan, nodes } };
}
