/** A uPlot chart as wide as its container, in the colours of the current scheme. */
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

interface PlotProps {
  /** Describes the chart for screen readers. */
  readonly label: string;
  readonly height: number;
  readonly data: uPlot.AlignedData;
  /**
   * Read when the chart is created, which is when `version` or the colours change. New data need no
   * new chart.
   */
  readonly options: (host: HTMLElement) => Omit<uPlot.Options, "width" | "height">;
  readonly version?: string;
  /** The visible range of x; absent to show all data. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** The indexes of series that are not drawn, from 0. */
  readonly hidden?: ReadonlySet<number>;
  readonly className?: string;
}

const none: ReadonlySet<number> = new Set();

export function Plot(props: PlotProps) {
  const { label, height, data, options, version = "", min, max, hidden = none, className } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const scheme = useComputedColorScheme();

  // biome-ignore lint/correctness/useExhaustiveDependencies: data, range and hidden series go in below.
  useEffect(() => {
    const { current } = host;
    if (current === null) return undefined;
    const made = new uPlot(
      { ...options(current), width: current.clientWidth, height },
      data,
      current,
    );
    plot.current = made;
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) made.setSize({ width: entry.contentRect.width, height });
    });
    resized.observe(current);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [version, scheme, height]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart that was made anew is told again.
  useEffect(() => {
    const given = min !== undefined && max !== undefined;
    plot.current?.setData(data, !given);
    if (given) plot.current?.setScale("x", { min, max });
  }, [data, min, max, version, scheme, height]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart that was made anew is told again.
  useEffect(() => {
    for (let index = 0; index < data.length - 1; index += 1) {
      plot.current?.setSeries(index + 1, { show: !hidden.has(index) });
    }
  }, [hidden, data.length, version, scheme, height]);

  return <div ref={host} className={className} role="img" aria-label={label} />;
}
