/** What all charts over time share. */
import type uPlot from "uplot";

/**
 * For each tick distance: the label, and what is added where a year or a day begins. Uses 24 hours.
 */
export const timeLabels: uPlot.Axis.Values = [
  [31_536_000, "{YYYY}", null, null, null, null, null, null, 1],
  [2_419_200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86_400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [
    0.001,
    ":{ss}.{fff}",
    "\n{D} {MMM} {YYYY}",
    null,
    "\n{D} {MMM} {HH}:{mm}",
    null,
    "\n{HH}:{mm}",
    null,
    1,
  ],
];

/** The height of an axis with one line of labels, in pixels. */
export const axisHeight = 32;

/** Uses the colours of the current scheme. */
export function axisStyle(
  host: HTMLElement,
): Required<Pick<uPlot.Axis, "stroke" | "grid" | "ticks" | "font">> {
  const style = getComputedStyle(host);
  const grid = { stroke: style.getPropertyValue("--line"), width: 1 };
  return {
    stroke: style.getPropertyValue("--mantine-color-dimmed"),
    grid,
    ticks: { ...grid, size: 5 },
    font: `12px ${style.fontFamily}`,
  };
}

/** Distinguishable in both schemes, and by most people with colour blindness. */
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

export function seriesColour(index: number): string {
  return palette[index % palette.length] ?? palette[0];
}

const shortUnits = ["", "k", "M", "G", "T", "P"];

/** The shortest text: 1.2k. */
export function axisValue(value: number): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1_000 && unit < shortUnits.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return `${value < 0 ? "-" : ""}${Number(size.toPrecision(4))}${shortUnits[unit]}`;
}
