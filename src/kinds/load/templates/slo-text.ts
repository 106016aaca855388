/**
 * An objective as people say it: `p95 < 20 ms`, `new_order: p99 < 50 ms`, `error_rate < 0.1 %`,
 * `qps > 1000`, `availability > 99.9 %`, `silence < 2 s`.
 */
import type { SloConfig } from "../core/scenario.ts";
import { isLowerLimit } from "../core/slo.ts";

const metrics: Readonly<Record<string, SloConfig["metric"]>> = {
  p50: "p50",
  p95: "p95",
  p99: "p99",
  p999: "p999",
  "p99.9": "p999",
  max: "max",
  avg: "avg",
  error_rate: "error_rate_pct",
  error_rate_pct: "error_rate_pct",
  errors: "error_rate_pct",
  qps: "qps_min",
  qps_min: "qps_min",
  availability: "availability_pct",
  availability_pct: "availability_pct",
  silence: "longest_silence",
  longest_silence: "longest_silence",
};

const pattern = /^\s*(?:([\w.-]+)\s*:\s*)?([\w.]+)\s*(<=?|>=?)\s*(\d+(?:\.\d+)?)\s*(ms|s|%)?\s*$/;

/** Undefined when the text is no objective. */
export function parseSloText(text: string): SloConfig | undefined {
  const [, of = "ALL", name = "", sign = "", amount = "", unit] = pattern.exec(text) ?? [];
  const metric = metrics[name.toLowerCase()];
  if (metric === undefined) return undefined;
  const isRate = metric === "qps_min";
  const isShare = metric === "error_rate_pct" || metric === "availability_pct";
  const units = isRate ? [undefined] : isShare ? ["%", undefined] : ["ms", "s"];
  if (sign.startsWith(">") !== isLowerLimit(metric)) return undefined;
  if (!units.includes(unit) && !(unit === undefined && !isRate)) return undefined;
  return { of, metric, limit: Number(amount) * (unit === "s" ? 1_000 : 1) };
}
