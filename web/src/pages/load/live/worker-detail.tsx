/** One worker of a run over the last minutes. */
import { Drawer } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RunWorker, WorkerSecond } from "../../../api/gen/types.ts";
import { readWorkerSeconds } from "../../../api/load.ts";
import { Failure } from "../../../components/failure.tsx";
import { LineChart } from "../../../components/line-chart.tsx";
import { axisValue } from "../../../components/plot-axes.ts";
import {
  formatClock,
  formatCount,
  formatDuration,
  formatLatency,
  formatPercent,
} from "../../../format.ts";
import { HealthSign } from "./health-sign.tsx";

const windowMs = 300_000;

interface WorkerDetailProps {
  readonly runId: string;
  /** Undefined when it is closed. */
  readonly worker: RunWorker | undefined;
  /** The time by the store's clock. */
  readonly atMs: number;
  readonly onClose: () => void;
}

export function WorkerDetail({ runId, worker, atMs, onClose }: WorkerDetailProps) {
  return (
    <Drawer
      opened={worker !== undefined}
      onClose={onClose}
      position="right"
      size="min(440px, 100%)"
      title={worker?.worker_id ?? ""}
    >
      {worker !== undefined && <Details runId={runId} worker={worker} atMs={atMs} />}
    </Drawer>
  );
}

interface DetailsProps {
  readonly runId: string;
  readonly worker: RunWorker;
  readonly atMs: number;
}

function Details({ runId, worker, atMs }: DetailsProps) {
  const { metrics } = worker;
  const { data, error } = useQuery({
    queryKey: ["load-worker", runId, worker.worker_id],
    queryFn: ({ signal }) => readWorkerSeconds(runId, worker.worker_id, atMs - windowMs, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 2_000,
    retry: false,
  });
  return (
    <>
      <div className="worker-detail-state">
        <HealthSign health={worker.health} />
        <span className="dim">
          {worker.status.toLowerCase()}, last heard {heardOf(worker)}
        </span>
      </div>
      {worker.last_error !== null && (
        <Failure title="Last error" error={new Error(worker.last_error)} />
      )}
      {error !== null && <Failure title="The worker's history cannot be read" error={error} />}
      {data !== undefined && data.length > 1 && <WorkerCharts rows={data} />}
      <dl className="facts">
        <dt>Host</dt>
        <dd className="mono">{worker.host_name}</dd>
        <dt>Operations</dt>
        <dd>{formatCount(metrics.total_ops)}</dd>
        <dt>Errors</dt>
        <dd>{formatCount(metrics.error_count)}</dd>
        <dt>Connections</dt>
        <dd>
          {formatCount(metrics.active_connections)} of {formatCount(metrics.target_connections)}
        </dd>
        <dt>CPU</dt>
        <dd>{formatPercent(ratio(metrics.cpu_percent))}</dd>
        <dt>Memory</dt>
        <dd>{formatPercent(ratio(metrics.memory_percent))}</dd>
        <dt>Event loop delay</dt>
        <dd>{formatDuration(metrics.event_loop_delay_ms)} (p99)</dd>
        <dt>Schedule lag</dt>
        <dd>{formatDuration(metrics.schedule_lag_ms)} (p99)</dd>
      </dl>
    </>
  );
}

/** Only whole seconds are known. */
function heardOf({ last_heartbeat_ago_s: seconds }: RunWorker): string {
  return seconds === 0 ? "just now" : `${formatDuration(seconds * 1_000)} ago`;
}

function WorkerCharts({ rows }: { readonly rows: readonly WorkerSecond[] }) {
  const { x, rate, latency } = useMemo(
    () => ({
      x: rows.map((row) => row.timestamp_ms),
      rate: [{ name: "operations/s", values: rows.map((row) => row.qps), isFilled: true }],
      latency: [{ name: "p95 so far", values: rows.map((row) => row.p95_latency_ms) }],
    }),
    [rows],
  );
  return (
    <div className="worker-charts">
      <LineChart
        label="Operations per second of this worker"
        x={x}
        lines={rate}
        formatX={formatClock}
        formatY={axisValue}
        height={130}
      />
      <LineChart
        label="p95 of this worker"
        x={x}
        lines={latency}
        formatX={formatClock}
        formatY={formatLatency}
        height={130}
      />
    </div>
  );
}

function ratio(percent: number | null): number | undefined {
  return percent === null ? undefined : percent / 100;
}
