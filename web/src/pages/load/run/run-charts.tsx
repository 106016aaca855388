/** Rate and latency over time. */
import { useMemo } from "react";
import type { RunMetrics } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { LineChart } from "../../../components/line-chart.tsx";
import { axisValue, seriesColour } from "../../../components/plot-axes.ts";
import { formatLatency, formatRate } from "../../../format.ts";
import { formatElapsed, seriesOf } from "./run-series.ts";

interface RunChartsProps {
  readonly metrics: RunMetrics;
  /** The requested rate, if the rate is fixed. */
  readonly targetQps: number | null;
}

const errorColour = seriesColour(4);

export function RunCharts({ metrics, targetQps }: RunChartsProps) {
  const series = useMemo(() => seriesOf(metrics.items), [metrics]);
  const rateLines = useMemo(
    () => [
      { name: "operations/s", values: series.qps, isFilled: true },
      ...(series.errors.some((errors) => errors > 0)
        ? [{ name: "errors/s", values: series.errors, colour: errorColour }]
        : []),
      ...(targetQps === null
        ? []
        : [
            {
              name: "target",
              values: series.x.map(() => targetQps),
              colour: seriesColour(1),
              isDashed: true,
            },
          ]),
    ],
    [series, targetQps],
  );
  const latencyLines = useMemo(
    () => [
      { name: "p50", values: series.p50, colour: seriesColour(0) },
      { name: "p95", values: series.p95, colour: seriesColour(1) },
      { name: "p99", values: series.p99, colour: seriesColour(2) },
    ],
    [series],
  );
  if (series.x.length === 0) {
    return (
      <Card title="Over time">
        <p className="dim card-body">No second of load was recorded.</p>
      </Card>
    );
  }
  const common = {
    x: series.x,
    formatX: formatElapsed,
    shadedUntil: series.measuredFrom,
    shadedName: "warm-up, not in the figures",
  };
  const peak = Math.max(...series.qps);
  return (
    <div className="run-pair">
      <Card title="Operations per second">
        <div className="card-body">
          <LineChart
            {...common}
            label={`Operations per second over time, peak ${formatRate(peak)}`}
            lines={rateLines}
            formatY={axisValue}
          />
        </div>
      </Card>
      <Card title="Latency">
        <div className="card-body">
          <LineChart
            {...common}
            label="Percentiles of latency over time, of each second alone"
            lines={latencyLines}
            formatY={formatLatency}
            isLogarithmicY
          />
        </div>
      </Card>
    </div>
  );
}
