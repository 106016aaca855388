/** The search for the most connections: its answer, and the steps to it. */
import type { RunSummary } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { formatCount, formatLatency, formatRate, formatShare } from "../../../format.ts";
import { searchAnswer } from "./search-answer.ts";

export function FindMaxCard({ summary }: { readonly summary: RunSummary }) {
  const { find_max: result, find_max_steps: steps } = summary;
  const top = Math.max(1, ...steps.map(({ qps }) => qps));
  return (
    <Card title="The most connections">
      <div className="card-body">
        {result === null || result.max_concurrency === 0 ? (
          <p className="find-max-answer">
            <strong>
              {result === null
                ? "No answer was reached."
                : "No number of connections kept to the limits."}
            </strong>{" "}
            <span className="dim">{result?.reason}</span>
          </p>
        ) : (
          <p className="find-max-answer">
            <strong>{searchAnswer(result)}</strong>: {formatRate(result.qps)} a second with{" "}
            {formatCount(result.max_concurrency)}, p95 {formatLatency(result.p95_latency_ms)}.{" "}
            <span className="dim">{result.reason}</span>
          </p>
        )}
      </div>
      <div className="table-scroll">
        <table className="table run-table" aria-label="Steps">
          <thead>
            <tr>
              <th className="num">Step</th>
              <th className="num">Connections</th>
              <th>Per second</th>
              <th className="num">p95</th>
              <th className="num from-sm">Errors</th>
              <th>Outcome</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step) => (
              <tr key={step.step_number}>
                <td className="num">{step.step_number}</td>
                <td className="num">{formatCount(step.connections)}</td>
                <td>
                  <span className="meter">
                    <span className="meter-track" aria-hidden="true">
                      <span
                        className="meter-fill"
                        style={{ width: `${(step.qps / top) * 100}%` }}
                      />
                    </span>
                    {formatRate(step.qps)}
                  </span>
                </td>
                <td className="num">{formatLatency(step.p95_latency_ms)}</td>
                <td className="num from-sm">{formatShare(step.error_rate_pct)}</td>
                <td>
                  {step.outcome?.toLowerCase().replaceAll("_", " ") ?? "unclear"}
                  {step.reason !== "" && <div className="dim run-small">{step.reason}</div>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
