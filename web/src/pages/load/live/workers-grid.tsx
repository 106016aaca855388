/** The run's workers side by side, and the details of one. */
import { IconServerOff } from "@tabler/icons-react";
import { useState } from "react";
import type { RunUpdate, RunWorker } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { Empty } from "../../../components/empty.tsx";
import { formatCount, formatLatency, formatPercent, formatRate } from "../../../format.ts";
import { HealthSign } from "./health-sign.tsx";
import { WorkerDetail } from "./worker-detail.tsx";

interface WorkersGridProps {
  readonly runId: string;
  readonly update: RunUpdate;
}

export function WorkersGrid({ runId, update }: WorkersGridProps) {
  const [openedId, setOpenedId] = useState<string>();
  const { workers } = update;
  const healthy = workers.filter(({ health }) => health === "HEALTHY").length;
  const opened = workers.find(({ worker_id: id }) => id === openedId);
  return (
    <Card
      title="Workers"
      aside={
        <span className="dim">
          {healthy} of {workers.length} healthy
        </span>
      }
    >
      {workers.length === 0 ? (
        <Empty icon={IconServerOff} title="No worker has started yet" />
      ) : (
        <ul className="worker-grid">
          {workers.map((worker) => (
            <li key={worker.worker_id}>
              <WorkerTile worker={worker} onOpen={() => setOpenedId(worker.worker_id)} />
            </li>
          ))}
        </ul>
      )}
      <WorkerDetail
        runId={runId}
        worker={opened}
        atMs={Date.parse(update.timestamp)}
        onClose={() => setOpenedId(undefined)}
      />
    </Card>
  );
}

function WorkerTile({
  worker,
  onOpen,
}: {
  readonly worker: RunWorker;
  readonly onOpen: () => void;
}) {
  const { worker_id: id, health, metrics, status } = worker;
  return (
    <button type="button" className="worker-tile" data-health={health} onClick={onOpen}>
      <span className="worker-tile-head">
        <strong className="truncate">{id}</strong>
        <HealthSign health={health} />
      </span>
      <span className="worker-tile-rate">
        {formatRate(metrics.qps)}
        <span className="dim"> ops/s</span>
      </span>
      <span className="dim worker-tile-notes">
        <span>p95 {formatLatency(metrics.p95_latency_ms)}</span>
        <span>
          {metrics.active_connections}/{metrics.target_connections} connections
        </span>
        <span>CPU {formatPercent(ratio(metrics.cpu_percent))}</span>
        {metrics.error_count > 0 && (
          <span className="tone-bad">{formatCount(metrics.error_count)} errors</span>
        )}
        <span>{status.toLowerCase()}</span>
      </span>
    </button>
  );
}

function ratio(percent: number | null): number | undefined {
  return percent === null ? undefined : percent / 100;
}
