/** Series over time. Dragging across it asks for that time; the legend says what is what, and hides and shows. */
import { useMemo, useRef, useState } from "react";
import type uPlot from "uplot";
import { Plot } from "../../components/plot.tsx";
import { axisStyle, axisValue, seriesColour, timeLabels } from "../../components/plot-axes.ts";
import { chartColumns, type ResultSeries, seriesText } from "./promql-result.ts";

interface ChartProps {
  readonly series: readonly ResultSeries[];
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly onZoom: (startMs: number, endMs: number) => void;
}

const drawnMax = 100;

export function Chart({ series, startMs, endMs, stepMs, onZoom }: ChartProps) {
  const drawn = useMemo(() => series.slice(0, drawnMax), [series]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<number>();
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const { times, columns } = useMemo(() => chartColumns(drawn, stepMs), [drawn, stepMs]);
  const data = useMemo(() => [times, ...columns] as uPlot.AlignedData, [times, columns]);
  const hiddenIndexes = useMemo(
    () => new Set(drawn.flatMap(({ key }, index) => (hidden.has(key) ? [index] : []))),
    [drawn, hidden],
  );

  /** One click shows a series alone, the next one all again; with a modifier it toggles that one. */
  const choose = (key: string, toggles: boolean): void => {
    setHidden((before) => {
      if (toggles) return before.symmetricDifference(new Set([key]));
      const others = new Set(drawn.map((each) => each.key).filter((each) => each !== key));
      const alone = before.size === others.size && !before.has(key);
      return alone ? new Set() : others;
    });
  };

  return (
    <div className="chart">
      <Plot
        label={`Chart of ${series.length} series`}
        height={320}
        data={data}
        options={(host) =>
          optionsOf(drawn, host, {
            onZoom: (from, to) => zoom.current(from, to),
            onCursor: setCursor,
          })
        }
        version={drawn.map(({ key }) => key).join("\n")}
        min={startMs / 1000}
        max={endMs / 1000}
        hidden={hiddenIndexes}
      />
      <ul className="legend" aria-label="Series">
        {drawn.map(({ key, metric, values }, index) => {
          const at = cursor === undefined ? undefined : columns[index]?.[cursor];
          const shown = cursor === undefined ? values.at(-1)?.[1] : at;
          return (
            <li key={key}>
              <button
                type="button"
                className="legend-item"
                aria-pressed={!hidden.has(key)}
                title="Click to show it alone, with Ctrl to hide it"
                onClick={(event) => choose(key, event.ctrlKey || event.metaKey || event.shiftKey)}
              >
                <span className="legend-sign" style={{ background: seriesColour(index) }} />
                <span className="mono legend-name">{seriesText(metric)}</span>
                <span className="mono legend-value">{formatValue(shown)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {series.length > drawnMax && (
        <p className="dim chart-note">
          The first {drawnMax} of {series.length} series are drawn. The table has them all.
        </p>
      )}
    </div>
  );
}

function formatValue(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (!Number.isFinite(number)) return String(value);
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return number.toExponential(3);
  return String(Number(number.toPrecision(6)));
}

interface Handlers {
  readonly onZoom: (startMs: number, endMs: number) => void;
  readonly onCursor: (index: number | undefined) => void;
}

function optionsOf(
  series: readonly ResultSeries[],
  host: HTMLElement,
  { onZoom, onCursor }: Handlers,
): Omit<uPlot.Options, "width" | "height"> {
  const axis = axisStyle(host);
  return {
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    scales: { x: { time: true } },
    axes: [
      { ...axis, space: 70, values: timeLabels },
      { ...axis, size: 62, values: (_plot, splits) => splits.map(axisValue) },
    ],
    series: [
      {},
      ...series.map(({ values }, index) => ({
        stroke: seriesColour(index),
        width: 1.5,
        // A line needs two points; a lone one would be invisible.
        points: { show: values.length === 1, size: 6 },
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          onZoom(plot.posToVal(left, "x") * 1000, plot.posToVal(left + width, "x") * 1000);
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
    },
  };
}
