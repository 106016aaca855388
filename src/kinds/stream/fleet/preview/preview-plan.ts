/** The columns of a preview, and the worker that has its rows. */
import { assert } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import { readStoredPlan } from "../../catalog/index.ts";
import type { PlanNode } from "../../language/core/index.ts";
import { stagesOf } from "../../run/core/index.ts";

export interface PreviewPlan {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** How many rows its sink gives. */
  readonly rowsMax: number;
  /** The worker that runs its sink. */
  readonly workerId: string;
}

export async function readPreviewPlan(tx: Tx, queryId: string): Promise<PreviewPlan> {
  const { plan, fragments } = await readStoredPlan(tx, queryId);
  const sink = plan.nodes.find(isPreview);
  assert(sink?.op.kind === "sink", "a preview has a sink for whoever looks");
  const stage = stagesOf(plan).find(({ nodes }) => nodes.some(isPreview));
  const fragment = fragments.find((each) => each.stage === stage?.id);
  const { worker_id: workerId } = await tx.db
    .selectFrom("query_fragments")
    .select("worker_id")
    .where("query_id", "=", queryId)
    .where("fragment", "=", fragment?.name ?? "")
    .executeTakeFirstOrThrow();
  const columns = sink.schema.map(({ name, type }) => ({ name, type: type.name }));
  return { columns, rowsMax: Number(sink.op.config.ROWS), workerId };
}

function isPreview({ op }: PlanNode): boolean {
  return op.kind === "sink" && op.type === "Preview";
}
