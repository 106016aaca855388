/** Charts with several runs over each other. */
import { useMemo } from "react";
import { Card } from "../../../components/card.tsx";
import { LineChart } from "../../../components/line-chart.tsx";
import { axisValue, seriesColour } from "../../../components/plot-axes.ts";
import { formatLatency } from "../../../format.ts";
import { formatElapsed, type RunSeries } from "../run/run-series.ts";
import { letterOf } from "./compare-view.ts";
import {
  type Distribution,
  type Overlay,
  overlayDistributions,
  overlaySeries,
  percentileName,
  percentileTick,
} from "./overlay.ts";

export interface ComparedSeries {
  readonly series: RunSeries;
  readonly distribution: Distribution;
}

export function CompareCharts({ runs }: { readonly runs: readonly ComparedSeries[] }) {
  const { rate, latency, distribution } = useMemo(
    () => ({
      rate: overlaySeries(runs.map(({ series: { x, qps } }) => ({ x, values: qps }))),
      latency: overlaySeries(runs.map(({ series: { x, p95 } }) => ({ x, values: p95 }))),
      distribution: overlayDistributions(runs.map((run) => run.distribution)),
    }),
    [runs],
  );
  return (
    <>
      <div className="run-pair">
        <Card title="Operations per second">
          <div className="card-body">
            <Lines
              label="Operations per second of each run, since its load began"
              overlay={rate}
              formatX={formatElapsed}
              formatY={axisValue}
            />
          </div>
        </Card>
        <Card title="p95, second by second">
          <div className="card-body">
            <Lines
              label="p95 of each run, since its load began"
              overlay={latency}
              formatX={formatElapsed}
              formatY={formatLatency}
              isLogarithmicY
            />
          </div>
        </Card>
      </div>
      <Card title="Latency by percentile" aside={<span className="dim">without warm-up</span>}>
        <div className="card-body">
          <Lines
            label="Latency of each run by percentile"
            overlay={distribution}
            formatX={percentileName}
            formatTickX={percentileTick}
            formatY={formatLatency}
            isLogarithmicX
            isLogarithmicY
          />
        </div>
      </Card>
    </>
  );
}

interface LinesProps {
  readonly label: string;
  readonly overlay: Overlay;
  readonly formatX: (value: number) => string;
  readonly formatTickX?: (value: number) => string;
  readonly formatY: (value: number) => string;
  readonly isLogarithmicX?: boolean;
  readonly isLogarithmicY?: boolean;
}

function Lines({ overlay, ...chart }: LinesProps) {
  const lines = useMemo(
    () =>
      overlay.columns.map((values, index) => ({
        name: index === 0 ? `${letterOf(index)} (base)` : letterOf(index),
        values,
        colour: seriesColour(index),
      })),
    [overlay],
  );
  return <LineChart {...chart} x={overlay.x} lines={lines} />;
}
