/** Lines over one scale, with their names and their values at the pointer. */
import { useMemo, useState } from "react";
import type uPlot from "uplot";
import { Plot } from "./plot.tsx";
import { axisHeight, axisStyle, seriesColour } from "./plot-axes.ts";

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly colour?: string;
  readonly isFilled?: boolean;
  /** For a limit or a target. */
  readonly isDashed?: boolean;
}

interface LineChartProps {
  readonly label: string;
  readonly x: readonly number[];
  readonly lines: readonly Line[];
  readonly formatX: (value: number) => string;
  /** The format of the axis, when it is shorter than that at the pointer. */
  readonly formatTickX?: (value: number) => string;
  readonly formatY: (value: number) => string;
  readonly height?: number;
  readonly isLogarithmicX?: boolean;
  /** Starts at the smallest value instead of zero. */
  readonly isLogarithmicY?: boolean;
  /** Where x begins to count; the part before is shaded. */
  readonly shadedUntil?: number | undefined;
  readonly shadedName?: string;
}

export function LineChart(props: LineChartProps) {
  const { label, x, lines, formatX, formatY, height = 220, shadedUntil = 0, shadedName } = props;
  const [at, setAt] = useState<number>();
  const data = useMemo(
    () => [x, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData,
    [x, lines],
  );
  const where = at === undefined ? undefined : x[at];
  return (
    <div className="line-chart">
      <Plot
        label={label}
        height={height}
        data={data}
        options={(host) => optionsOf(host, props, setAt)}
        version={[shadedUntil, ...lines.map(({ name }) => name)].join("\n")}
      />
      <ul className="chart-key">
        {lines.map(({ name, values, colour }, index) => {
          const value = at === undefined ? undefined : values[at];
          return (
            <li key={name}>
              <span
                className="chart-key-sign"
                style={{ borderColor: colour ?? seriesColour(index) }}
                aria-hidden="true"
              />
              {name}
              {value !== undefined && value !== null && <strong> {formatY(value)}</strong>}
            </li>
          );
        })}
        {where !== undefined && <li>at {formatX(where)}</li>}
        {where === undefined && shadedUntil > 0 && shadedName !== undefined && (
          <li>grey: {shadedName}</li>
        )}
      </ul>
    </div>
  );
}

function optionsOf(
  host: HTMLElement,
  props: LineChartProps,
  onCursor: (index: number | undefined) => void,
): Omit<uPlot.Options, "width" | "height"> {
  const { x, lines, formatX, formatY, isLogarithmicX = false, isLogarithmicY = false } = props;
  const { formatTickX = formatX } = props;
  const { shadedUntil = 0 } = props;
  const axis = axisStyle(host);
  const ground = getComputedStyle(host).getPropertyValue("--hover");
  return {
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: false, ...(isLogarithmicX && { distr: 3 as const }) },
      y: isLogarithmicY ? { distr: 3, range: logarithmicRange } : { range: fromZero },
    },
    axes: [
      {
        ...axis,
        space: 60,
        size: axisHeight,
        values: (_plot, splits) => splits.map((each) => labelOf(each, formatTickX)),
      },
      {
        ...axis,
        size: 66,
        values: (_plot, splits) => splits.map((each) => labelOf(each, formatY)),
      },
    ],
    series: [
      {},
      ...lines.map(({ values, colour, isFilled = false, isDashed = false }, index) => {
        const stroke = colour ?? seriesColour(index);
        return {
          stroke,
          width: 1.5,
          ...(isFilled && { fill: `${stroke}22` }),
          ...(isDashed && { dash: [5, 4] }),
          // A line needs two points; a lone one would be invisible.
          points: { show: values.filter((each) => each !== null).length === 1, size: 6 },
        };
      }),
    ],
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)],
      drawClear: [
        (plot) => {
          const [first = 0] = x;
          if (shadedUntil <= first) return;
          const from = plot.valToPos(first, "x", true);
          const { top, height } = plot.bbox;
          plot.ctx.fillStyle = ground;
          plot.ctx.fillRect(from, top, plot.valToPos(shadedUntil, "x", true) - from, height);
        },
      ],
    },
  };
}

/** A logarithmic axis labels only some ticks. */
function labelOf(value: number | null, format: (value: number) => string): string {
  return value === null ? "" : format(value);
}

function fromZero(_plot: uPlot, _min: number, max: number): uPlot.Range.MinMax {
  return [0, max > 0 ? max * 1.08 : 1];
}

/** Rounds both ends. Without values, or with a single one, the range is still not empty. */
export function logarithmicRange(_plot: uPlot, min: number, max: number): uPlot.Range.MinMax {
  if (!(min > 0) || !(max > 0)) return [0.1, 10];
  const low = roundDown(min);
  const high = 1 / roundDown(1 / max);
  return [low, high > low ? high : low * 10];
}

/** Rounds down to 1, 2 or 5 times a power of ten. */
function roundDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (value >= 5 * power ? 5 : value >= 2 * power ? 2 : 1) * power;
}
