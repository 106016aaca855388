/** The processes that made the load. */
import { IconCircleCheck, IconCircleX, IconLoader2, IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { TestDetail, WorkerSecond } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
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
  if (workers.length === 0) {
    return (
      <Card title="Workers">
        <p className="dim card-body">No worker took part.</p>
      </Card>
    );
  }
  const shares = new Map(run.children.map((child) => [child.worker_id, child]));
  return (
    <Card title="Workers" aside={<span className="dim">{workers.length}</span>}>
      <div className="table-scroll">
        <table className="table run-table" aria-label="Workers">
          <thead>
            <tr>
              <th>Name</th>
              <th>State</th>
              <th className="from-sm">Per second, over time</th>
              <th className="num">Operations</th>
              <th className="num from-sm">Connections</th>
              <th className="num">p95</th>
              <th className="num from-sm">Errors</th>
              <th className="from-sm">CPU at most</th>
              <th className="num from-sm">Late at most</th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => {
              const share = shares.get(worker.worker_id);
              const history = histories.get(worker.worker_id);
              return (
                <tr key={worker.worker_id} data-worker={worker.worker_id}>
                  <td>
                    <span className="run-strong nowrap">{worker.worker_id}</span>
                    <div className="dim run-small">{worker.host_name}</div>
                  </td>
                  <td>
                    <StateSign
                      sign={
                        signs[worker.status] ?? {
                          word: worker.status.toLowerCase(),
                          tone: "accent",
                          icon: IconLoader2,
                        }
                      }
                    />
                    {worker.last_error !== null && (
                      <div className="dim run-small">{worker.last_error}</div>
                    )}
                  </td>
                  <td className="from-sm run-spark">
                    <RateLine history={history} name={worker.worker_id} />
                  </td>
                  <td className="num">{formatCount(share?.total_operations)}</td>
                  <td className="num from-sm">{formatCount(worker.metrics.target_connections)}</td>
                  <td className="num">{formatLatency(share?.p95_latency_ms)}</td>
                  <td className="num from-sm">{formatCount(share?.failed_operations)}</td>
                  <td className="from-sm">
                    <Meter
                      ratio={
                        typeof history?.cpuPercentMax === "number"
                          ? history.cpuPercentMax / 100
                          : undefined
                      }
                    />
                  </td>
                  <td className="num from-sm">{formatLatency(history?.loopDelayMsMax)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
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
      label={`${name}: at most ${formatRate(top)} a second`}
      height={28}
    />
  );
}
