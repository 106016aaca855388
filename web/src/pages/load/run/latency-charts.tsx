/** Latency histogram and heat map, from the records in the lake. */
import { useComputedColorScheme } from "@mantine/core";
import { useMemo, useState } from "react";
import type uPlot from "uplot";
import type { ExactLatency, FinalFigures, HeatMap } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { logarithmicRange } from "../../../components/line-chart.tsx";
import { Plot } from "../../../components/plot.tsx";
import { axisHeight, axisStyle, axisValue } from "../../../components/plot-axes.ts";
import { formatCount, formatLatency, plural } from "../../../format.ts";
import {
  type Bar,
  barsOf,
  cellAt,
  extentOf,
  heatColour,
  rampColour,
  sinceLoad,
} from "./heat-grid.ts";
import { formatElapsed } from "./run-series.ts";

interface LatencyChartsProps {
  readonly final: FinalFigures;
  readonly loadStartMs: number | undefined;
}

export function LatencyCharts({ final, loadStartMs }: LatencyChartsProps) {
  const { heat_map: recorded, latency } = final;
  const map = useMemo(() => sinceLoad(recorded, loadStartMs), [recorded, loadStartMs]);
  const bars = useMemo(() => barsOf(map), [map]);
  if (bars.length === 0 || latency === null) {
    return (
      <Card title="Latency distribution">
        <p className="dim card-body">
          No successful operation was recorded, so there is nothing to draw.
        </p>
      </Card>
    );
  }
  return (
    <div className="run-pair">
      <Card title="Latency distribution">
        <div className="card-body">
          <Histogram bars={bars} latency={latency} />
        </div>
      </Card>
      <Card title="Latency heat map">
        <div className="card-body">
          <HeatMapChart map={map} />
        </div>
      </Card>
    </div>
  );
}

const height = 220;

function Histogram({
  bars,
  latency,
}: {
  readonly bars: readonly Bar[];
  readonly latency: ExactLatency;
}) {
  const [at, setAt] = useState<number>();
  const data = useMemo((): uPlot.AlignedData => {
    const edges = [...bars.map(({ lowMs }) => lowMs), bars.at(-1)?.highMs ?? 1];
    return [edges, [...bars.map(({ count }) => count), null]];
  }, [bars]);
  const bar = at === undefined ? undefined : bars[at];
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <Plot
        className="line-chart"
        label={`Histogram of the latency of ${plural(total, "operation")}`}
        height={height}
        data={data}
        version={`${total} ${bars.length}`}
        options={(host) => histogramOptions(host, bars, latency, setAt)}
      />
      <p className="chart-key">
        {bar === undefined ? (
          <span>lines: p50, p95 and p99</span>
        ) : (
          <span>
            {formatLatency(bar.lowMs)} to {formatLatency(bar.highMs)}:{" "}
            <strong>{plural(bar.count, "operation")}</strong>
          </span>
        )}
      </p>
    </>
  );
}

function histogramOptions(
  host: HTMLElement,
  bars: readonly Bar[],
  latency: ExactLatency,
  onBar: (index: number | undefined) => void,
): Omit<uPlot.Options, "width" | "height"> {
  const style = getComputedStyle(host);
  const axis = axisStyle(host);
  const marks = [
    ["p50", latency.p50_ms],
    ["p95", latency.p95_ms],
    ["p99", latency.p99_ms],
  ] as const;
  return {
    ...painted(host),
    scales: {
      x: { time: false, distr: 3 },
      y: { range: (_plot, _min, max) => [0, Math.max(1, max) * 1.25] },
    },
    axes: [
      { ...axis, space: 50, size: axisHeight, values: latencyLabels },
      { ...axis, size: 56, values: (_plot, splits) => splits.map(axisValue) },
    ],
    hooks: {
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor;
          if (left < 0) return onBar(undefined);
          const ms = plot.posToVal(left, "x");
          onBar(bars.findIndex(({ lowMs, highMs }) => ms >= lowMs && ms < highMs));
        },
      ],
      draw: [
        (plot) => {
          const { ctx } = plot;
          const bottom = plot.valToPos(0, "y", true);
          ctx.fillStyle = style.getPropertyValue("--accent");
          for (const { lowMs, highMs, count } of bars) {
            if (count === 0) continue;
            const left = plot.valToPos(lowMs, "x", true);
            const width = Math.max(1, plot.valToPos(highMs, "x", true) - left - 1);
            // A single record among thousands is still a visible line.
            const top = Math.min(bottom - 2, plot.valToPos(count, "y", true));
            ctx.fillRect(left, top, width, bottom - top);
          }
          ctx.fillStyle = style.getPropertyValue("--mantine-color-text");
          ctx.strokeStyle = ctx.fillStyle;
          ctx.font = `${11 * devicePixelRatio}px ${style.fontFamily}`;
          ctx.textAlign = "center";
          for (const [name, ms] of marks) {
            const x = Math.round(plot.valToPos(ms, "x", true)) + 0.5;
            ctx.beginPath();
            ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
            ctx.moveTo(x, plot.bbox.top + 14 * devicePixelRatio);
            ctx.lineTo(x, bottom);
            ctx.stroke();
            ctx.fillText(name, x, plot.bbox.top + 10 * devicePixelRatio);
          }
          ctx.setLineDash([]);
        },
      ],
    },
  };
}

function HeatMapChart({ map }: { readonly map: HeatMap }) {
  const scheme = useComputedColorScheme();
  const [told, setTold] = useState("");
  const extent = useMemo(() => extentOf(map), [map]);
  if (extent === undefined) return null;
  const { startSeconds, endSeconds, lowMs, highMs, countMax } = extent;
  const ramp = [0, 0.25, 0.5, 0.75, 1].map((share) => rampColour(share, scheme)).join(", ");
  return (
    <>
      <Plot
        className="line-chart"
        label={`Heat map: operations by time and latency, from ${formatLatency(lowMs)} to ${formatLatency(highMs)}`}
        height={height}
        data={[
          [startSeconds, endSeconds],
          [lowMs, highMs],
        ]}
        version={`${startSeconds} ${countMax}`}
        options={(host) => heatOptions(host, map, scheme, setTold)}
      />
      <p className="chart-key">
        {told === "" ? (
          <span className="heat-scale">
            1{" "}
            <span
              className="heat-ramp"
              style={{ background: `linear-gradient(to right, ${ramp})` }}
            />{" "}
            {formatCount(countMax)} operations in a cell
          </span>
        ) : (
          <span>{told}</span>
        )}
      </p>
    </>
  );
}

function heatOptions(
  host: HTMLElement,
  map: HeatMap,
  scheme: "light" | "dark",
  onTell: (text: string) => void,
): Omit<uPlot.Options, "width" | "height"> {
  const axis = axisStyle(host);
  const { cells, bucket_seconds: width } = map;
  const countMax = extentOf(map)?.countMax ?? 1;
  return {
    ...painted(host),
    scales: { x: { time: false }, y: { distr: 3, range: logarithmicRange } },
    axes: [
      {
        ...axis,
        space: 60,
        size: axisHeight,
        values: (_plot, splits) => splits.map(formatElapsed),
      },
      { ...axis, size: 66, values: latencyLabels },
    ],
    hooks: {
      setCursor: [
        (plot) => {
          const { left = -1, top = -1 } = plot.cursor;
          if (left < 0) return onTell("");
          const cell = cellAt(map, plot.posToVal(left, "x"), plot.posToVal(top, "y"));
          onTell(
            cell === undefined
              ? ""
              : `at ${formatElapsed(cell.at_seconds)}, ${formatLatency(cell.low_ms)} to ${formatLatency(cell.high_ms)}: ${plural(cell.count, "operation")}`,
          );
        },
      ],
      draw: [
        (plot) => {
          for (const cell of cells) {
            const left = Math.floor(plot.valToPos(cell.at_seconds, "x", true));
            const right = Math.ceil(plot.valToPos(cell.at_seconds + width, "x", true));
            const top = Math.floor(plot.valToPos(cell.high_ms, "y", true));
            const bottom = Math.ceil(plot.valToPos(cell.low_ms, "y", true));
            plot.ctx.fillStyle = heatColour(cell.count, countMax, scheme);
            plot.ctx.fillRect(left, top, right - left, bottom - top);
          }
        },
      ],
    },
  };
}

/** For charts that are painted by hand: uPlot draws only the axes. */
function painted(host: HTMLElement): Pick<uPlot.Options, "legend" | "cursor" | "series"> {
  const stroke = getComputedStyle(host).getPropertyValue("--line");
  return {
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    series: [{}, { stroke, paths: () => null, points: { show: false } }],
  };
}

function latencyLabels(_plot: uPlot, splits: readonly (number | null)[]): string[] {
  return splits.map((ms) => (ms === null ? "" : formatLatency(ms)));
}
