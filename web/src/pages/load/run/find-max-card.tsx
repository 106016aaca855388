/** The result of the search for the best number of connections, and its steps. */
import type { ReportStep, RunSummary } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { DataTable } from "../../../components/data-table.tsx";
import { formatLatency, formatRate, plural } from "../../../format.ts";
import { stepColumns } from "../step-table.tsx";
import { searchAnswer } from "./search-answer.ts";

export function FindMaxCard({ summary }: { readonly summary: RunSummary }) {
  const { find_max: result, find_max_steps: steps } = summary;
  const top = Math.max(1, ...steps.map(({ qps }) => qps));
  const columns = stepColumns<ReportStep>(({ connections, qps, error_rate_pct, reason }) => ({
    connections,
    qps,
    errorPct: error_rate_pct,
    reason,
    top,
  }));
  return (
    <Card title="Maximum connections">
      <div className="card-body">
        {result === null || result.max_concurrency === 0 ? (
          <p className="find-max-answer">
            <strong>
              {result === null
                ? "The search found no answer."
                : "No number of connections stayed within the limits."}
            </strong>{" "}
            <span className="dim">{result?.reason}</span>
          </p>
        ) : (
          <p className="find-max-answer">
            <strong>{searchAnswer(result)}</strong>: {formatRate(result.qps)} operations/s with{" "}
            {plural(result.max_concurrency, "connection")}, p95{" "}
            {formatLatency(result.p95_latency_ms)}. <span className="dim">{result.reason}</span>
          </p>
        )}
      </div>
      <DataTable
        label="Steps"
        columns={columns}
        rows={steps}
        rowKey={({ step_number: number }) => number}
      />
    </Card>
  );
}
