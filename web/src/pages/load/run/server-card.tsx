/** The target's own figures: during the run, and about its queries afterwards. */
import { Button } from "@mantine/core";
import {
  IconCircleCheck,
  IconCircleMinus,
  IconCircleX,
  IconClock,
  IconLoader2,
  IconRefresh,
} from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { EnrichmentState, EnrichmentStatus, RunMetrics } from "../../../api/gen/types.ts";
import { readJson, request } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { LineChart } from "../../../components/line-chart.tsx";
import { axisValue } from "../../../components/plot-axes.ts";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";
import { toastDone, toastFailed } from "../../../components/toasts.tsx";
import { formatCount, formatLatency, formatPercent } from "../../../format.ts";
import { formatElapsed, pollSeriesOf } from "./run-series.ts";

interface ServerCardProps {
  readonly runId: string;
  readonly kind: string;
  readonly metrics: RunMetrics | undefined;
}

export function ServerCard({ runId, kind, metrics }: ServerCardProps) {
  return (
    <Card title="Target server">
      {metrics !== undefined && metrics.warehouse.length > 0 && <Polls metrics={metrics} />}
      <Enrichment runId={runId} kind={kind} />
    </Card>
  );
}

function Polls({ metrics }: { readonly metrics: RunMetrics }) {
  const series = useMemo(() => pollSeriesOf(metrics.warehouse, metrics.items), [metrics]);
  const lines = useMemo(
    () => [
      { name: "running", values: series.running },
      { name: "waiting", values: series.queued },
    ],
    [series],
  );
  const name = metrics.warehouse[0]?.warehouse_name ?? "";
  return (
    <div className="card-body">
      <LineChart
        label={`Sessions of ${name} that ran and waited, over time`}
        x={series.x}
        lines={lines}
        formatX={formatElapsed}
        formatY={axisValue}
        height={160}
      />
    </div>
  );
}

const signs: Readonly<Record<EnrichmentStatus, Sign>> = {
  PENDING: { word: "Enrichment pending", tone: "accent", icon: IconClock },
  RUNNING: { word: "Enriching", tone: "accent", icon: IconLoader2 },
  COMPLETED: { word: "Enriched", tone: "good", icon: IconCircleCheck },
  AGGREGATE: { word: "Enriched by statement", tone: "good", icon: IconCircleCheck },
  SKIPPED: { word: "No enrichment", tone: "dim", icon: IconCircleMinus },
  FAILED: { word: "Enrichment failed", tone: "bad", icon: IconCircleX },
};

function Enrichment({ runId, kind }: { readonly runId: string; readonly kind: string }) {
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ["load-enrichment", runId],
    queryFn: ({ signal }) =>
      readJson<EnrichmentState>(testPath(runId, "/enrichment-status"), { signal }),
    refetchInterval: ({ state }) => (isPending(state.data) ? 2_000 : false),
    retry: false,
  });
  const retrying = useMutation({
    mutationFn: () => request(testPath(runId, "/retry-enrichment"), { method: "POST" }),
    onSuccess: () => toastDone("Target server", "The run's queries are looked up again."),
    onError: (thrown) => toastFailed("Could not look up the queries again", thrown),
    onSettled: () => queries.invalidateQueries({ queryKey: ["load-enrichment", runId] }),
  });
  if (data === undefined) return <p className="dim card-body">{error?.message ?? "…"}</p>;
  const { enrichment_status: status } = data;
  return (
    <>
      <div className="card-body enrichment">
        <span className="enrichment-state">
          {status === null ? (
            <span className="dim">
              The run's queries are looked up in the server when the run has ended.
            </span>
          ) : (
            <StateSign sign={signs[status]} spinning={status === "RUNNING"} />
          )}
          <span className="dim">{sentenceOf(data, kind)}</span>
        </span>
        {(status === "FAILED" || status === "COMPLETED") && (
          <Button
            variant="default"
            leftSection={<IconRefresh size={14} />}
            loading={retrying.isPending}
            onClick={() => retrying.mutate()}
          >
            {status === "FAILED" ? "Retry" : "Look up again"}
          </Button>
        )}
      </div>
      {data.statements.length > 0 && <Statements statements={data.statements} />}
    </>
  );
}

function isPending(state: EnrichmentState | undefined): boolean {
  return state?.enrichment_status === "PENDING" || state?.enrichment_status === "RUNNING";
}

function sentenceOf(state: EnrichmentState, kind: string): string {
  switch (state.enrichment_status) {
    case "SKIPPED":
      return `${kind} keeps no history of queries. Latencies are as measured by the load generator.`;
    case "FAILED":
      return state.enrichment_error ?? "";
    case "COMPLETED":
      return [
        `${formatPercent(state.enrichment_ratio)} of the queries were found in its history.`,
        ...(state.app_overhead_p50_ms === null
          ? []
          : [
              `Time outside the server: p50 ${formatLatency(state.app_overhead_p50_ms)}, p95 ${formatLatency(state.app_overhead_p95_ms)}.`,
            ]),
      ].join(" ");
    case "AGGREGATE":
      return "The server's own figures by statement, over the run.";
    default:
      return "";
  }
}

const statementsMax = 50;

/** Sorted by the server's total time, the largest first. */
function Statements({ statements }: Pick<EnrichmentState, "statements">) {
  const slowest = statements.toSorted((a, b) => b.totalMs - a.totalMs).slice(0, statementsMax);
  return (
    <DataTable
      label="Statements"
      columns={statementColumns}
      rows={slowest}
      rowKey={({ text }) => text}
    />
  );
}

type Statement = EnrichmentState["statements"][number];

const statementColumns: readonly Column<Statement>[] = [
  { title: "Statement", className: "mono run-statement", cell: ({ text }) => text },
  { title: "Calls", className: "num", cell: ({ calls }) => formatCount(calls) },
  { title: "Total", className: "num from-sm", cell: ({ totalMs }) => formatLatency(totalMs) },
  {
    title: "Average",
    className: "num",
    cell: ({ calls, totalMs }) => formatLatency(calls > 0 ? totalMs / calls : null),
  },
  { title: "Rows", className: "num from-sm", cell: ({ rows }) => formatCount(rows) },
];
