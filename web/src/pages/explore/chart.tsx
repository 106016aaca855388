/** Series over time. Dragging across it asks for that time; the legend says what is what, and hides and shows. */
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { axisStyle, timeLabels } from "../../components/plot-axes.ts";
import { chartColumns, type ResultSeries, seriesText } from "./promql-result.ts";

interface ChartProps {
  readonly series: readonly ResultSeries[];
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly onZoom: (startMs: number, endMs: number) => void;
}

const drawnMax = 100;
const height = 320;
/** Told apart in both schemes, and by most who do not see all colours. */
const palette = [
  "#2497aa",
  "#d9822b",
  "#6c5fc7",
  "#3fa672",
  "#d64545",
  "#b98d12",
  "#c2529c",
  "#5b8def",
  "#7a8b3a",
  "#8a6d5c",
] as const;

export function Chart({ series, startMs, endMs, stepMs, onZoom }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const scheme = useComputedColorScheme();
  const drawn = useMemo(() => series.slice(0, drawnMax), [series]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<number>();
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const { times, columns } = useMemo(() => chartColumns(drawn, stepMs), [drawn, stepMs]);
  const keys = drawn.map(({ key }) => key).join("\n");

  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew for other series or colours only; data goes in below.
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = new uPlot(
      optionsOf(drawn, host.current, {
        onZoom: (from, to) => zoom.current(from, to),
        onCursor: setCursor,
      }),
      [times, ...columns] as uPlot.AlignedData,
      host.current,
    );
    plot.current = made;
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) made.setSize({ width: entry.contentRect.width, height });
    });
    resized.observe(host.current);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [keys, scheme]);

  useEffect(() => {
    plot.current?.setData([times, ...columns] as uPlot.AlignedData, false);
    plot.current?.setScale("x", { min: startMs / 1000, max: endMs / 1000 });
  }, [times, columns, startMs, endMs]);

  useEffect(() => {
    for (const [index, { key }] of drawn.entries()) {
      plot.current?.setSeries(index + 1, { show: !hidden.has(key) });
    }
  }, [hidden, drawn]);

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
      <div ref={host} role="img" aria-label={`Chart of ${series.length} series`} />
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
                <span className="legend-sign" style={{ background: colourOf(index) }} />
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

function colourOf(index: number): string {
  return palette[index % palette.length] ?? palette[0];
}

function formatValue(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (!Number.isFinite(number)) return String(value);
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return number.toExponential(3);
  return String(Number(number.toPrecision(6)));
}

const shortUnits = ["", "k", "M", "G", "T", "P"];

function axisValue(value: number): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1_000 && unit < shortUnits.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return `${value < 0 ? "-" : ""}${Number(size.toPrecision(4))}${shortUnits[unit]}`;
}

interface Handlers {
  readonly onZoom: (startMs: number, endMs: number) => void;
  readonly onCursor: (index: number | undefined) => void;
}

function optionsOf(
  series: readonly ResultSeries[],
  host: HTMLElement,
  { onZoom, onCursor }: Handlers,
): uPlot.Options {
  const axis = axisStyle(host);
  return {
    width: host.clientWidth,
    height,
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
        stroke: colourOf(index),
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
