/** Load tests of the last day that failed. */
import type { AttentionItem } from "../../../ground/http/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { LoadService } from "../service/load-service.ts";

const runsMax = 20;
const runAgeMsMax = 24 * 3_600_000;

export async function readRunsAttention(
  load: Pick<LoadService, "list">,
  clock: Clock,
): Promise<readonly AttentionItem[]> {
  const fromMs = clock.wallMs() - runAgeMsMax;
  const { items } = await load.list({ fromMs, limit: 200 });
  return items
    .filter(({ status, verdict }) => status === "FAILED" || verdict === "FAILED")
    .slice(0, runsMax)
    .map((run) => ({
      kind: "load_run",
      id: run.run_id,
      name: run.test_name,
      severity: "degraded",
      state: "failed",
      reason: run.cancellation_reason ?? (run.verdict === "FAILED" ? "the verdict is FAILED" : ""),
      since_ms: run.end_time_ms ?? run.created_at_ms,
    }));
}
