/** Lag over time against the target. The part above the target has another colour. */
import { SegmentedControl } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type uPlot from "uplot";
import type { DynamicTable, LagSeries } from "../../api/gen/types.ts";
import { readJson } from "../../api/http.ts";
import { Card } from "../../components/card.tsx";
import { Plot } from "../../components/plot.tsx";
import { axisStyle, timeLabels } from "../../components/plot-axes.ts";
import { formatLag } from "../../format.ts";

const windows = [
  { label: "5 min", value: "300000" },
  { label: "1 h", value: "3600000" },
  { label: "24 h", value: "86400000" },
];

interface LagCardProps {
  readonly table: DynamicTable;
  /** Changes when there is new data to draw. */
  readonly version: string;
}

export function LagCard({ table, version }: LagCardProps) {
  const [windowMs, setWindowMs] = useState("300000");
  const { data, error } = useQuery({
    queryKey: ["table-lag", table.name, windowMs, version],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/dynamic-tables/${encodeURIComponent(table.name)}/lag`;
      return await readJson<LagSeries>(`${path}?window_ms=${windowMs}`, { signal });
    },
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
    retry: false,
  });
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label="Time shown"
      data={windows}
      value={windowMs}
      onChange={setWindowMs}
    />
  );
  return (
    <Card title="Lag" aside={choice}>
      <div className="card-body">
        {data === undefined || data.points.length === 0 ? (
          <p className="dim lag-none">
            {error === null ? "No refresh in this time yet." : error.message}
          </p>
        ) : (
          <LagPlot series={data} />
        )}
      </div>
    </Card>
  );
}

function LagPlot({ series }: { readonly series: LagSeries }) {
  const targetMs = series.effective_target_lag_ms ?? undefined;
  const data = useMemo(() => columnsOf(series), [series]);
  const highest = Math.max(...series.points.map(({ lag_ms }) => lag_ms));
  const target = targetMs === undefined ? "no target" : `a target of ${formatLag(targetMs)}`;
  return (
    <>
      <Plot
        className="lag-plot"
        label={`Lag: peak ${formatLag(highest)}, with ${target}`}
        height={200}
        data={data}
        options={(host) => optionsOf(host, targetMs)}
        version={String(targetMs)}
        min={series.from_ms / 1000}
        max={series.now_ms / 1000}
      />
      <div className="lag-legend dim">
        <span>
          peak <strong>{formatLag(highest)}</strong>
        </span>
        {targetMs !== undefined && (
          <span>
            <span className="lag-target-sign" aria-hidden="true" /> target {formatLag(targetMs)}
          </span>
        )}
        {series.points.some(({ estimated }) => estimated) && (
          <span>estimated where its sources did not change</span>
        )}
      </div>
    </>
  );
}

function columnsOf({
  points,
  effective_target_lag_ms,
  from_ms,
  now_ms,
}: LagSeries): uPlot.AlignedData {
  const target = effective_target_lag_ms === null ? null : effective_target_lag_ms / 1000;
  const first = points[0]?.at_ms ?? now_ms;
  // The target spans the whole window; the lag starts where it is known.
  const lead = first > from_ms ? [from_ms] : [];
  return [
    [...lead, ...points.map(({ at_ms }) => at_ms)].map((ms) => ms / 1000),
    [...lead.map(() => null), ...points.map(({ lag_ms }) => lag_ms / 1000)],
    [...lead, ...points].map(() => target),
  ];
}

function optionsOf(
  host: HTMLElement,
  targetMs: number | undefined,
): Omit<uPlot.Options, "width" | "height"> {
  const style = getComputedStyle(host);
  const colour = (name: string): string => style.getPropertyValue(name);
  const axis = axisStyle(host);
  const accent = colour("--accent");
  const bad = colour("--bad-fill");
  const target = targetMs === undefined ? undefined : targetMs / 1000;
  /** One colour below the target, another above. */
  const split = (plot: uPlot, alpha: string): CanvasGradient | string => {
    const { top, height: boxHeight } = plot.bbox;
    if (target === undefined || boxHeight <= 0) return accent + alpha;
    const share = (plot.valToPos(target, "y", true) - top) / boxHeight;
    const at = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
    const gradient = plot.ctx.createLinearGradient(0, top, 0, top + boxHeight);
    gradient.addColorStop(0, bad + alpha);
    gradient.addColorStop(at, bad + alpha);
    gradient.addColorStop(at, accent + alpha);
    gradient.addColorStop(1, accent + alpha);
    return gradient;
  };
  return {
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true },
      y: { range: (_plot, _min, max) => [0, Math.max(max * 1.08, (target ?? 0) * 1.2, 0.01)] },
    },
    axes: [
      { ...axis, space: 70, values: timeLabels },
      {
        ...axis,
        size: 64,
        incrs: [
          0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
          7200, 21600, 43200, 86400,
        ],
        values: (_plot, splits) => splits.map((seconds) => formatLag(seconds * 1000)),
      },
    ],
    series: [
      {},
      {
        width: 1.5,
        stroke: (plot) => split(plot, ""),
        fill: (plot) => split(plot, "26"),
        points: { show: false },
      },
      { width: 1.5, dash: [5, 4], stroke: colour("--warn-fill"), points: { show: false } },
    ],
  };
}
