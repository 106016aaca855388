/** A comparison of two runs, as the API sends it. */
import { z } from "zod";
import { count, list, ms, text } from "./schema-parts.ts";

const difference = z
  .object({
    metric: z.enum([
      "qps",
      "p50",
      "p95",
      "p99",
      "error_rate_pct",
      "unserved_pct",
      "availability_pct",
    ]),
    /** Shares (`_pct`) are in percent; their differences are percentage points. */
    of: text.describe("An operation's name, or ALL."),
    before: ms,
    after: ms,
    /** Whether the value is a lower bound. */
    is_least: z.tuple([z.boolean(), z.boolean()]).readonly().describe("Before and after."),
    change_pct: ms,
    /** The 95 % confidence interval of the change. Null when there are too few seconds. */
    interval_pct: z.tuple([count, count]).readonly().nullable(),
    p_value: ms,
    verdict: z.enum(["better", "same", "slightly worse", "worse", "unsure"]),
  })
  .meta({ id: "MetricDifference" });

export const comparisonSchema = z
  .object({
    base_run_id: text,
    run_id: text,
    verdict: z
      .enum(["IMPROVEMENT", "NEUTRAL", "INCONCLUSIVE", "WARNING", "REGRESSION"])
      .meta({ id: "ComparisonVerdict" }),
    reasons: list(text),
    metrics: list(difference),
    configuration: list(
      z.object({ path: text, before: z.unknown().optional(), after: z.unknown().optional() }),
    ),
  })
  .meta({ id: "RunComparison" });
