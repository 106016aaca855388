/** The search for the best number of connections: the current step, and those before it. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { FindMaxStep, FindMaxUpdate, RunUpdate } from "../../../api/gen/types.ts";
import { readSteps } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { DataTable } from "../../../components/data-table.tsx";
import { Figure } from "../../../components/figure.tsx";
import { LineChart } from "../../../components/line-chart.tsx";
import { axisValue } from "../../../components/plot-axes.ts";
import { formatCount, formatLatency, formatRate, formatShare, unknown } from "../../../format.ts";
import { stepColumns as stepTableColumns } from "../step-table.tsx";
import { stepColumns } from "./step-columns.ts";

interface FindMaxPanelProps {
  readonly runId: string;
  readonly update: RunUpdate;
}

const words: Readonly<Record<string, string>> = {
  STEPPING: "going up",
  DESCEND: "going down: the start was too high",
  BACKOFF: "going back",
  MIDPOINT: "between the last two",
  CONFIRM: "confirming",
  DONE: "found",
};

export function FindMaxPanel({ runId, update: { find_max: now } }: FindMaxPanelProps) {
  const { data: steps = [] } = useQuery({
    queryKey: ["load-steps", runId, now?.current_step, now?.status],
    queryFn: ({ signal }) => readSteps(runId, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 3_000, // A step is stored a moment after the next one has begun.
    retry: false,
  });
  return (
    <Card
      title="Search for the maximum"
      aside={<span className="dim">{words[now?.status ?? ""] ?? now?.status.toLowerCase()}</span>}
    >
      {now === null ? (
        <p className="dim card-body panel-none">The first step begins after the warm-up.</p>
      ) : (
        <StepNow now={now} />
      )}
      {steps.length > 0 && (
        <div className="live-steps">
          <div className="card-body">
            <StepChart steps={steps} />
          </div>
          <StepTable steps={steps} />
        </div>
      )}
    </Card>
  );
}

function StepNow({ now }: { readonly now: FindMaxUpdate }) {
  return (
    <dl className="figures-strip step-now">
      <Figure
        name="Step"
        note={now.queue_detected ? "the server queues requests" : "no queue at the server"}
      >
        {formatCount(now.current_step)}
      </Figure>
      <Figure name="Connections" note="of this step">
        {formatCount(now.target_workers)}
      </Figure>
      <Figure
        name="Operations/s"
        note={`${formatChange(now.qps_vs_prior_pct)} against the previous step`}
      >
        {formatRate(now.qps)}
      </Figure>
      <Figure
        name="p95"
        note={`${formatChange(now.p95_vs_baseline_pct)} against ${formatLatency(now.baseline_p95_ms)} at the first step`}
      >
        {formatLatency(now.current_p95_ms)}
      </Figure>
      <Figure name="Errors" note="of this step">
        {formatShare(now.error_rate === null ? null : now.error_rate * 100)}
      </Figure>
    </dl>
  );
}

function StepChart({ steps }: { readonly steps: readonly FindMaxStep[] }) {
  const { x, lines } = useMemo(() => {
    const { connections, qps } = stepColumns(steps);
    return { x: connections, lines: [{ name: "operations/s by connections", values: qps }] };
  }, [steps]);
  return (
    <LineChart
      label="Operations per second by connections"
      x={x}
      lines={lines}
      formatX={axisValue}
      formatY={axisValue}
      height={180}
    />
  );
}

function StepTable({ steps }: { readonly steps: readonly FindMaxStep[] }) {
  const top = Math.max(1, ...steps.map(({ qps }) => qps ?? 0));
  const columns = stepTableColumns<FindMaxStep>((step) => ({
    connections: step.total_target_connections,
    qps: step.qps,
    errorPct: step.error_rate === null ? null : step.error_rate * 100,
    reason: step.stop_reason,
    top,
  }));
  return (
    <DataTable
      label="Steps"
      columns={columns}
      rows={steps.toReversed()}
      rowKey={({ step_number: number }) => number}
    />
  );
}

function formatChange(percent: number | null): string {
  if (percent === null) return unknown;
  return `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(1)} %`;
}
