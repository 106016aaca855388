/** Formats a worker's fact: the unit is the last word of its name. Pure. */
import { formatBytes, formatCount, formatDuration, formatPercent } from "../../format.ts";

const units: readonly (readonly [suffix: string, format: (value: number) => string])[] = [
  ["_ratio", formatPercent],
  ["_bytes", formatBytes],
  ["_ms", formatDuration],
  ["_total", formatCount],
];

export function describeFact(
  name: string,
  text: string,
): { readonly name: string; readonly value: string } {
  const number = text === "" ? Number.NaN : Number(text);
  const unit = units.find(([suffix]) => name.endsWith(suffix));
  const stem = unit === undefined ? name : name.slice(0, -unit[0].length);
  const format = unit?.[1] ?? formatCount;
  return {
    name: readable(stem),
    value: Number.isFinite(number) ? format(number) : text,
  };
}

function readable(stem: string): string {
  const words = stem.replaceAll("_", " ").replace(/^cpu\b/, "CPU");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
