/** The processes that made the load. */
import { IconCircleCheck, IconCircleX, IconLoader2, IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RunWorker, TestDetail, WorkerSecond } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { Meter } from "../../../components/meter.tsx";
import { Sparkline } from "../../../components/sparkline.tsx";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";
import { formatCount, formatLatency, formatRate } from "../../../format.ts";
import { type WorkerHistory, workerHistories } from "./run-series.ts";

const signs: Readonly<Record<string, Sign>> = {
  COMPLETED: { word: "Completed", tone: "good", icon: IconCircleCheck },
  FAILED: { word: "Failed", tone: "bad", icon: IconCircleX },
  DEAD: { word: "Lost", tone: "bad", icon: IconPlugConnectedX },
};

export function RunWorkers({ run }: { readonly run: TestDetail }) {
  const { data } = useQuery({
    queryKey: ["load-worker-metrics", run.test_id, run.status],
    queryFn: ({ signal }) =>
      readJson<{ readonly items: readonly WorkerSecond[] }>(
        testPath(run.test_id, "/worker-metrics?limit=10000"),
        { signal },
      ),
    retry: false,
  });
  const histories = useMemo(() => workerHistories(data?.items ?? []), [data]);
  const { workers } = run.live;
  const shares = new Map(run.children.map((child) => [child.worker_id, child]));
  const columns: readonly Column<RunWorker>[] = [
    {
      title: "Name",
      cell: (worker) => (
        <>
          <span className="run-strong nowrap">{worker.worker_id}</span>
          <div className="dim row-small">{worker.host_name}</div>
        </>
      ),
    },
    { title: "State", cell: (worker) => <State worker={worker} /> },
    {
      title: "Ops/s over time",
      className: "from-sm run-spark",
      cell: ({ worker_id: id }) => <RateLine history={histories.get(id)} name={id} />,
    },
    {
      title: "Operations",
      className: "num",
      cell: ({ worker_id: id }) => formatCount(shares.get(id)?.total_operations),
    },
    {
      title: "Connections",
      className: "num from-sm",
      cell: ({ metrics }) => formatCount(metrics.target_connections),
    },
    {
      title: "p95",
      className: "num",
      cell: ({ worker_id: id }) => formatLatency(shares.get(id)?.p95_latency_ms),
    },
    {
      title: "Errors",
      className: "num from-sm",
      cell: ({ worker_id: id }) => formatCount(shares.get(id)?.failed_operations),
    },
    {
      title: "Peak CPU",
      className: "from-sm",
      cell: ({ worker_id: id }) => {
        const percent = histories.get(id)?.cpuPercentMax;
        return <Meter ratio={typeof percent === "number" ? percent / 100 : undefined} />;
      },
    },
    {
      title: "Peak delay",
      hint: "The longest time for which the load generator's event loop was blocked",
      className: "num from-sm",
      cell: ({ worker_id: id }) => formatLatency(histories.get(id)?.loopDelayMsMax),
    },
  ];
  return (
    <Card title="Workers" aside={<span className="dim">{workers.length}</span>}>
      <DataTable
        label="Workers"
        columns={columns}
        rows={workers}
        rowKey={({ worker_id: id }) => id}
        rowProps={({ worker_id: id }) => ({ "data-worker": id })}
        empty="No worker took part."
      />
    </Card>
  );
}

function State({ worker }: { readonly worker: RunWorker }) {
  const other: Sign = { word: worker.status.toLowerCase(), tone: "accent", icon: IconLoader2 };
  return (
    <>
      <StateSign sign={signs[worker.status] ?? other} />
      {worker.last_error !== null && <div className="dim row-small">{worker.last_error}</div>}
    </>
  );
}

interface RateLineProps {
  readonly history: WorkerHistory | undefined;
  readonly name: string;
}

function RateLine({ history, name }: RateLineProps) {
  if (history === undefined || history.qps.length < 2) return null;
  const top = Math.max(...history.qps);
  return (
    <Sparkline
      samples={history.qps}
      samplesMax={history.qps.length}
      top={Math.max(1, top)}
      label={`${name}: peak ${formatRate(top)} operations/s`}
      height={28}
    />
  );
}
