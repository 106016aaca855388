/**
 * Which of the two text formats a file is in, from its beginning. Only a line that means different things in them
 * decides: a timestamp in seconds or milliseconds above all.
 */
import type { TextFormat } from "../text/parse-series.ts";

/** Milliseconds of 1973, seconds of the year 5138. */
const millisecondsMin = 1e11;

const onlyOpenMetrics = /^# (?:EOF$|UNIT )|^# TYPE \S+ (?:unknown|info|stateset|gaugehistogram)$/;
const onlyPrometheus = /^\s*$|^#(?! (?:HELP|TYPE|UNIT) | EOF$)|^# TYPE \S+ untyped$|^\s/;
const exemplar = /[ \t][^ \t"]+ # \{/;
/** What stands behind the labels: a value and a timestamp. */
const sampleEnd = /[ \t](\S+)[ \t]+(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)[ \t]*(?:# \{.*)?$/i;

/** `undefined`: nothing in these whole lines tells. */
export function detectFormat(text: string): TextFormat | undefined {
  const end = text.lastIndexOf("\n");
  if (end < 0) return undefined;
  for (const line of text.slice(0, end).split("\n")) {
    if (onlyOpenMetrics.test(line) || exemplar.test(line)) return "openmetrics";
    if (onlyPrometheus.test(line)) return "prometheus";
    if (line.startsWith("#")) continue;
    const ts = sampleEnd.exec(line.slice(line.lastIndexOf("}") + 1) || line)?.[2];
    if (ts === undefined) continue;
    const isSeconds = /[.e]/i.test(ts) || Number(ts) < millisecondsMin;
    return isSeconds ? "openmetrics" : "prometheus";
  }
  return undefined;
}
