/**
 * What the schemas of load tests share. A schema with an id is a component of the OpenAPI document,
 * from which the dashboard's types are generated.
 */
import { z } from "zod";
import { runPhases, runStatuses } from "../core/run-state.ts";

export const ms = z.number().nullable();
export const text = z.string();
export const count = z.number();
export const counts = z.record(z.string(), count);
export const loose = z.record(z.string(), z.unknown());
export const status = z.enum(runStatuses).meta({ id: "RunStatus" });
export const phase = z
  .enum(runPhases)
  .meta({ id: "RunPhase", description: "Empty while prepared." });
export const verdict = z.enum(["PASSED", "FAILED"]).nullable();
export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();
export const workerStatus = z.enum([
  "STARTING",
  "READY",
  "RUNNING",
  "DRAINING",
  "COMPLETED",
  "FAILED",
  "DEAD",
]);
export const enrichmentStatus = z
  .enum(["PENDING", "RUNNING", "COMPLETED", "FAILED", "SKIPPED", "AGGREGATE"])
  .meta({ id: "EnrichmentStatus", description: "Whether the target was asked about the queries." });

export const latencies = {
  p50_latency_ms: ms,
  p90_latency_ms: ms,
  p95_latency_ms: ms,
  p99_latency_ms: ms,
  p999_latency_ms: ms,
  avg_latency_ms: ms,
  min_latency_ms: ms,
  max_latency_ms: ms,
};
export const latencySummary = z.object(latencies).meta({ id: "LatencySummary" });
const latencyName = z
  .enum(Object.keys(latencies) as (keyof typeof latencies)[])
  .meta({ id: "LatencyName" });
export const atLeast = list(latencyName).describe(
  "Latencies of which only the least is known: arrivals without an answer are among them.",
);
