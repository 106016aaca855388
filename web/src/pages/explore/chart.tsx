/**
 * Series over time. Dragging selects a time range; clicks in the legend hide and show series. The
 * pointer or the arrow keys choose a time, whose values are shown beside it and in the legend.
 */
import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import type uPlot from "uplot";
import { Plot } from "../../components/plot.tsx";
import { axisStyle, seriesColour, timeLabels } from "../../components/plot-axes.ts";
import { formatMoment } from "../../format.ts";
import { chartColumns, type ResultSeries, seriesText } from "./promql-result.ts";
import { formatUnit, incrementsOf, type Unit, unitOf } from "./unit.ts";

interface ChartProps {
  readonly query: string;
  readonly series: readonly ResultSeries[];
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly onZoom: (startMs: number, endMs: number) => void;
}

const drawnMax = 100;
const readMax = 10;

/** The time under the pointer. */
interface Cursor {
  readonly index: number;
  /** From the chart's left, in pixels. */
  readonly left: number;
  readonly isRight: boolean;
}

export function Chart({ query, series, startMs, endMs, stepMs, onZoom }: ChartProps) {
  const drawn = useMemo(() => series.slice(0, drawnMax), [series]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<Cursor>();
  const plot = useRef<uPlot>(undefined);
  const unit = useMemo(() => unitOf(query), [query]);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const { times, columns } = useMemo(() => chartColumns(drawn, stepMs), [drawn, stepMs]);
  const data = useMemo(() => [times, ...columns] as uPlot.AlignedData, [times, columns]);
  const hiddenIndexes = useMemo(
    () => new Set(drawn.flatMap(({ key }, index) => (hidden.has(key) ? [index] : []))),
    [drawn, hidden],
  );

  /**
   * One click shows a series alone, the next shows all again; with a modifier it toggles that
   * series.
   */
  const choose = (key: string, toggles: boolean): void => {
    setHidden((before) => {
      if (toggles) return before.symmetricDifference(new Set([key]));
      const others = new Set(drawn.map((each) => each.key).filter((each) => each !== key));
      const alone = before.size === others.size && !before.has(key);
      return alone ? new Set() : others;
    });
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const { current } = plot;
    const last = times.length - 1;
    const at = cursor?.index ?? last;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (current === undefined) return;
    if (event.key === "Escape") current.setCursor({ left: -10, top: -10 });
    if (next === undefined) return;
    event.preventDefault();
    const seconds = times[Math.max(0, Math.min(last, next))] ?? 0;
    current.setCursor({ left: current.valToPos(seconds, "x"), top: 20 });
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys choose a time, as the pointer does.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: as above.
    <div className="chart" tabIndex={0} onKeyDown={onKeyDown}>
      <Plot
        label={`Chart of ${series.length} series`}
        height={320}
        data={data}
        options={(host) =>
          optionsOf(drawn, host, unit, {
            onPlot: (made) => {
              plot.current = made;
            },
            onZoom: (from, to) => zoom.current(from, to),
            onCursor: setCursor,
          })
        }
        version={[unit.of, unit.isPerSecond, ...drawn.map(({ key }) => key)].join("\n")}
        min={startMs / 1000}
        max={endMs / 1000}
        hidden={hiddenIndexes}
      />
      {cursor !== undefined && (
        <Readout
          cursor={cursor}
          seconds={times[cursor.index]}
          unit={unit}
          rows={drawn.flatMap(({ key, metric }, index) => {
            const value = columns[index]?.[cursor.index];
            if (value === null || value === undefined || hidden.has(key)) return [];
            return [{ key, text: seriesText(metric), value, colour: seriesColour(index) }];
          })}
        />
      )}
      <ul className="legend" aria-label="Series">
        {drawn.map(({ key, metric, values }, index) => {
          const at = cursor === undefined ? undefined : columns[index]?.[cursor.index];
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
                <span className="mono legend-value">{formatValue(shown, unit)}</span>
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

interface ReadoutProps {
  readonly cursor: Cursor;
  readonly seconds: number | undefined;
  readonly unit: Unit;
  readonly rows: readonly {
    readonly key: string;
    readonly text: string;
    readonly value: number;
    readonly colour: string;
  }[];
}

/** Shows the time and the largest values at it. */
function Readout({ cursor, seconds, unit, rows }: ReadoutProps) {
  const shown = rows.toSorted((a, b) => b.value - a.value).slice(0, readMax);
  return (
    <div
      className={`chart-readout${cursor.isRight ? " chart-readout-right" : ""}`}
      style={{ left: cursor.left }}
      role="status"
      aria-label="At this time"
    >
      <div className="chart-readout-time">
        {seconds === undefined ? "" : formatMoment(seconds * 1000)}
      </div>
      {shown.map(({ key, text, value, colour }) => (
        <div key={key} className="chart-readout-row">
          <span className="legend-sign" style={{ background: colour }} />
          <span className="mono truncate">{text}</span>
          <strong className="mono legend-value">{formatUnit(value, unit, 6)}</strong>
        </div>
      ))}
      {rows.length > readMax && <div className="dim">and {rows.length - readMax} more below</div>}
    </div>
  );
}

function formatValue(value: number | string | null | undefined, unit: Unit): string {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  return Number.isFinite(number) ? formatUnit(number, unit, 6) : String(value);
}

interface Handlers {
  readonly onPlot: (plot: uPlot) => void;
  readonly onZoom: (startMs: number, endMs: number) => void;
  readonly onCursor: (cursor: Cursor | undefined) => void;
}

function optionsOf(
  series: readonly ResultSeries[],
  host: HTMLElement,
  unit: Unit,
  { onPlot, onZoom, onCursor }: Handlers,
): Omit<uPlot.Options, "width" | "height"> {
  const axis = axisStyle(host);
  const incrs = incrementsOf(unit);
  return {
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    scales: { x: { time: true } },
    axes: [
      { ...axis, space: 70, values: timeLabels },
      {
        ...axis,
        size: unit.of === "number" ? 62 : 78,
        ...(incrs !== undefined && { incrs }),
        values: (_plot, splits) => splits.map((each) => formatUnit(each, unit, 4)),
      },
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
      ready: [onPlot],
      setCursor: [
        ({ cursor: { idx, left = -1 }, over }) => {
          const at = left + over.offsetLeft;
          const isRight = left > over.clientWidth / 2;
          onCursor(typeof idx === "number" ? { index: idx, left: at, isRight } : undefined);
        },
      ],
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
