/** Rate and latency over the last minutes. */
import { useMemo } from "react";
import type { LoadMode, RunUpdate } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { LineChart } from "../../../components/line-chart.tsx";
import { axisValue } from "../../../components/plot-axes.ts";
import { formatLatency } from "../../../format.ts";
import { type ChartSecond, columnsOf } from "./chart-seconds.ts";
import { formatTimer } from "./phase-timers.ts";

interface LiveChartsProps {
  readonly update: RunUpdate;
  readonly seconds: readonly ChartSecond[];
  readonly mode: LoadMode;
}

export function LiveCharts({ update, seconds, mode }: LiveChartsProps) {
  const startMs = Date.parse(update.timestamp) - update.timing.elapsed_display_seconds * 1_000;
  // The start varies by milliseconds between updates.
  const startS = Math.round(startMs / 1_000);
  return (
    <div className="live-charts">
      <Card title="Operations per second">
        <div className="card-body">
          <RateChart seconds={seconds} startS={startS} />
        </div>
      </Card>
      <Card title="Latency" aside={<span className="dim">{latencyNote(mode)}</span>}>
        <div className="card-body">
          <LatencyChart seconds={seconds} startS={startS} />
        </div>
      </Card>
    </div>
  );
}

/** A closed loop has no schedule, so its latency includes no waiting. */
function latencyNote(mode: LoadMode): string {
  const since =
    mode === "QPS" ? "measured from the intended start" : "measured from when the request was sent";
  return `of each second, ${since}`;
}

interface ChartProps {
  readonly seconds: readonly ChartSecond[];
  /** The start of the run's clock, in seconds. */
  readonly startS: number;
}

function RateChart({ seconds, startS }: ChartProps) {
  const hasTarget = seconds.some(({ targetQps }) => targetQps !== null);
  const { x, lines } = useMemo(() => {
    const [times, qps = [], target = []] = columnsOf(seconds, [
      (second) => second.qps,
      (second) => second.targetQps,
    ]);
    return {
      x: times.map((time) => time - startS),
      lines: [
        { name: "answered", values: qps, isFilled: true },
        ...(hasTarget ? [{ name: "wanted", values: target, isDashed: true }] : []),
      ],
    };
  }, [seconds, startS, hasTarget]);
  if (x.length < 2) return <Nothing />;
  return (
    <LineChart
      label="Operations per second over the last minutes"
      x={x}
      lines={lines}
      formatX={formatX}
      formatY={axisValue}
      height={190}
    />
  );
}

function LatencyChart({ seconds, startS }: ChartProps) {
  const { x, lines } = useMemo(() => {
    const [times, p50 = [], p95 = [], p99 = []] = columnsOf(seconds, [
      (second) => second.p50Ms,
      (second) => second.p95Ms,
      (second) => second.p99Ms,
    ]);
    return {
      x: times.map((time) => time - startS),
      lines: [
        { name: "p50", values: p50 },
        { name: "p95", values: p95 },
        { name: "p99", values: p99 },
      ],
    };
  }, [seconds, startS]);
  if (x.length < 2) return <Nothing />;
  return (
    <LineChart
      label="Latency percentiles of each second over the last minutes"
      x={x}
      lines={lines}
      formatX={formatX}
      formatY={formatLatency}
      height={190}
    />
  );
}

function Nothing() {
  return <p className="dim chart-none">No measurements yet.</p>;
}

function formatX(seconds: number): string {
  return formatTimer(Math.max(0, seconds));
}
