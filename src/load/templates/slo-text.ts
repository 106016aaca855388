/** An objective as people say it: `p95 < 20 ms`, `new_order: p99 < 50 ms`, `error_rate < 0.1 %`, `qps > 1000`. */
import type { SloConfig } from "../core/scenario.ts";

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
};

const pattern = /^\s*(?:([\w.-]+)\s*:\s*)?([\w.]+)\s*(<=?|>=?)\s*(\d+(?:\.\d+)?)\s*(ms|s|%)?\s*$/;

/** `undefined`: it is none. */
export function parseSloText(text: string): SloConfig | undefined {
  const [, of = "ALL", name = "", sign = "", amount = "", unit] = pattern.exec(text) ?? [];
  const metric = metrics[name.toLowerCase()];
  if (metric === undefined) return undefined;
  const isRate = metric === "qps_min";
  const units = isRate ? [undefined] : metric === "error_rate_pct" ? ["%", undefined] : ["ms", "s"];
  if (sign.startsWith(">") !== isRate) return undefined;
  if (!units.includes(unit) && !(unit === undefined && !isRate)) return undefined;
  return { of, metric, limit: Number(amount) * (unit === "s" ? 1_000 : 1) };
}
