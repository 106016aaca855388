/** What all charts over time have in common. */
import type uPlot from "uplot";

/** For each distance between two ticks: the label, and what is added where a year or a day begins. 24 hours a day. */
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

/** In the colours of the scheme that is shown. */
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
