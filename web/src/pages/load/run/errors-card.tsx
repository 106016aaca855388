/** The errors: by kind, by operation, and in the target's own words. */
import { useQuery } from "@tanstack/react-query";
import type { ErrorSummary, RunSummary } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { formatCount, formatLatency, formatShare, plural } from "../../../format.ts";

interface ErrorsCardProps {
  readonly runId: string;
  readonly summary: Pick<RunSummary, "total_operations" | "failed_latency">;
}

export function ErrorsCard({ runId, summary }: ErrorsCardProps) {
  const { total_operations: total, failed_latency: latency } = summary;
  const { data, error } = useQuery({
    queryKey: ["load-errors", runId],
    queryFn: ({ signal }) => readJson<ErrorSummary>(testPath(runId, "/error-summary"), { signal }),
    retry: false,
  });
  if (data === undefined) {
    return (
      <Card title="Errors">
        <p className="dim card-body">{error?.message ?? "…"}</p>
      </Card>
    );
  }
  const kinds = Object.entries(data.errors_by_kind).sort(([, a], [, b]) => b - a);
  const columns: readonly Column<(typeof kinds)[number]>[] = [
    { title: "Kind", className: "run-strong nowrap", cell: ([kind]) => kind },
    { title: "Count", className: "num", cell: ([, count]) => formatCount(count) },
    {
      title: "Share",
      className: "num",
      cell: ([, count]) => formatShare((count / Math.max(1, total)) * 100),
    },
    { title: "Message", cell: ([kind]) => <Messages summary={data} kind={kind} /> },
  ];
  return (
    <Card title="Errors" aside={<span className="dim">{plural(data.total_errors, "error")}</span>}>
      <DataTable
        label="Errors"
        columns={columns}
        rows={kinds}
        rowKey={([kind]) => kind}
        rowProps={([kind]) => ({ "data-kind": kind })}
      />
      <p className="dim run-note">
        By operation:{" "}
        {data.by_operation
          .map(({ operation, error_count: count }) => `${operation} ${formatCount(count)}`)
          .join(", ")}
        {latency !== null &&
          `. Failed operations took ${formatLatency(latency.p50_latency_ms)} (p50), ${formatLatency(latency.p95_latency_ms)} (p95); they are not part of the other latencies.`}
      </p>
    </Card>
  );
}

function Messages({ summary, kind }: { readonly summary: ErrorSummary; readonly kind: string }) {
  const messages = summary.messages.filter(({ error_kind: own }) => own === kind);
  if (messages.length === 0) return <span className="dim">No message was recorded.</span>;
  return (
    <ul className="error-messages">
      {messages.map(({ error_message: message, count }) => (
        <li key={message ?? ""}>
          <span className="mono">{message ?? "without a message"}</span>{" "}
          <span className="dim">× {formatCount(count)}</span>
        </li>
      ))}
    </ul>
  );
}
