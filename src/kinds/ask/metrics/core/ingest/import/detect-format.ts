/**
 * Detects which of the two text formats a file has, from its beginning. Only a line that means
 * different things in the two decides, mostly by a timestamp in seconds or milliseconds.
 */
import type { TextFormat } from "../text/parse-series.ts";

/** As milliseconds this is in 1973, as seconds in the year 5138. */
const millisecondsMin = 1e11;

const onlyOpenMetrics = /^# (?:EOF$|UNIT )|^# TYPE \S+ (?:unknown|info|stateset|gaugehistogram)$/;
const onlyPrometheus = /^\s*$|^#(?! (?:HELP|TYPE|UNIT) | EOF$)|^# TYPE \S+ untyped$|^\s/;
const exemplar = /[ \t][^ \t"]+ # \{/;
/** The part after the labels: a value and a timestamp. */
const sampleEnd = /[ \t](\S+)[ \t]+(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)[ \t]*(?:# \{.*)?$/i;

/** Undefined when these lines, which must be whole, do not decide it. */
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
