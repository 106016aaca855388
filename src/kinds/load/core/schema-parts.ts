/**
 * What the schemas of load tests share. A schema with an id is a component of the OpenAPI document,
 * from which the dashboard's types are generated.
 */
import { z } from "zod";
import { latenciesBy, latencyNames } from "./latency.ts";
import { runPhases, runStatuses } from "./run-state.ts";

/** The type of what a schema describes; nobody changes it once it is made. */
export type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;

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

export const latencies = latenciesBy(() => ms);
export const latencySummary = z.object(latencies).meta({ id: "LatencySummary" });
const latencyName = z.enum(latencyNames).meta({ id: "LatencyName" });
export const atLeast = list(latencyName).describe(
  "Latencies of which only the least is known: arrivals without an answer are among them.",
);
