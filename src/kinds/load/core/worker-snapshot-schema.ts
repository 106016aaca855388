/**
 * What a worker sends once a second, checked on arrival. A string of `encoded` is a `Histogram` of
 * microseconds. Fields with a default are unknown to workers and rows of earlier versions.
 */
import { z } from "zod";
import { queryKinds } from "./operation.ts";
import { runPhases } from "./run-state.ts";
import { workerStatus } from "./schema-parts.ts";

const name = z.string().min(1).max(200);
const finite = z.number().finite();
const encoded = z.string().max(262_144);

const seriesSchema = z.strictObject({
  operation: name,
  kind: z.enum(queryKinds),
  phase: z.enum(["WARMUP", "MEASUREMENT", "COOLDOWN"]),
  /** 0 outside FIND_MAX. */
  step: z.int().min(0),
  /** Operations that ended: successes and failures. */
  ops: z.int().min(0),
  rows: z.int().min(0),
  /** Counts by kind of failure. */
  errors: z.record(z.string().max(100), z.int().min(0)),
  /** Of successes: from the intended start in QPS mode, otherwise from the actual one. */
  response: encoded,
  /** Of successes, from sending to the answer. */
  service: encoded,
  /** Of failures, from the start of `response`. Null: an earlier version has them in `response`. */
  failed: encoded.nullable(),
  /** Arrivals that were due and have no answer: given up, or waiting for more than a second. */
  unserved: z.int().min(0),
  /** How long each of those has waited so far. */
  censored: encoded,
});

const healthSchema = z.strictObject({
  event_loop_delay_ms_p99: finite,
  event_loop_delay_ms_mean: finite,
  /** How late arrivals were sent although a connection was free: the generator's own delay. */
  schedule_lag_ms_p99: finite,
  schedule_lag_ms_p95: finite,
  /** Of the same second's successes, which lateness is judged against. Null without successes. */
  latency_ms_p50: finite.nullable(),
  latency_ms_p95: finite.nullable(),
  cpu_percent: finite,
  memory_percent: finite,
  rss_bytes: finite,
  /** Arrivals that wait for a connection now. */
  waiting: z.int().min(0),
  /** Arrivals that were given up. Percentiles are invalid once there are any. */
  dropped: z.int().min(0),
  /** Arrivals that still waited when the run ended. */
  unsent: z.int().min(0),
});

/** When the target answered in MEASUREMENT. Cumulative. */
const answeringSchema = z.strictObject({
  measured_ms: finite.min(0),
  /** Stretches of 100 ms and more in which something was wanted and nothing succeeded. */
  silences: encoded,
  /** The silences in which a connection could not be opened. */
  outages: encoded.default(""),
  /** For a closed loop: the total time of its connections, and their stalls (SI5) of a second. */
  connection_ms: finite.min(0).default(0),
  stalls: z.record(z.string().max(100), encoded).default({}),
  /** Requests that were sent again (HT5). */
  resent: z.int().min(0).default(0),
  /** How long the generator itself did not run (SI6), and arrivals that came due then (GE10). */
  frozen_ms: finite.min(0).default(0),
  skipped: z.int().min(0).default(0),
});

const identity = { test_id: name, worker_id: name, worker_group_id: z.int().min(0) };
const state = {
  status: workerStatus,
  phase: z.enum(runPhases),
  target_connections: z.int().min(0),
};

/** The body of `POST /api/runs/{run_id}/metrics/live`. */
export const livePostSchema = z.strictObject({
  ...identity,
  worker_group_count: z.int().min(1),
  ...state,
  metrics: z.strictObject({
    run_id: name,
    ...identity,
    ...state,
    sequence: z.int().min(0),
    step: z.int().min(0),
    elapsed_seconds: finite,
    target_qps: finite.nullable(),
    active_connections: z.int().min(0),
    /** The rate of the last second. */
    qps: finite,
    health: healthSchema,
    answering: answeringSchema,
    /** The target's first message for each kind of failure. */
    error_examples: z.record(z.string().max(100), z.string().max(500)),
    series: z.array(seriesSchema).max(10_000),
    /** In a step of a search: the last second's responses, which may be left out (FM7). */
    step_response: encoded.nullable(),
  }),
});
