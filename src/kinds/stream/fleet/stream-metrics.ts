/** Metrics of the cluster's continuous queries. Only the coordinator that leads exposes them. */
import type { Metrics } from "../../../ground/observe/index.ts";
import type { FragmentGauges, QueryGauges, StreamGauges } from "./core/stream-gauges.ts";

const listed = "Of the first hundred queries, those that do not run first.";

/** `read` gives the current numbers, or undefined where another process leads. */
export function createStreamMetrics(metrics: Metrics, read: () => StreamGauges | undefined): void {
  const whole = (name: string, help: string, of: (gauges: StreamGauges) => number): void => {
    metrics.gauge(name, help, [], () => {
      const gauges = read();
      return gauges === undefined ? Number.NaN : of(gauges);
    });
  };
  metrics.gauges("stream_queries", "Continuous queries, by state.", ["state"], () =>
    Object.entries(read()?.queryCounts ?? {}).map(([state, value]) => ({
      labels: { state },
      value,
    })),
  );
  whole(
    "stream_queries_unlisted",
    "Queries beyond the hundred with metrics of their own.",
    (g) => g.unlistedQueries,
  );
  whole("stream_slots", "Fragments that all workers may run.", ({ load }) => load.slots);
  whole("stream_slots_used", "Fragments that hold a slot.", ({ load }) => load.slotsUsed);
  installQueries(metrics, () => read()?.queries ?? []);
  installFragments(metrics, () => read()?.fragments ?? []);
}

type Of<Gauges> = (gauges: Gauges) => number | undefined;

function installQueries(metrics: Metrics, read: () => readonly QueryGauges[]): void {
  const gauge = (name: string, help: string, of: Of<QueryGauges>): void =>
    metrics.gauges(name, `${help} ${listed}`, ["query"], () =>
      read().flatMap((each) => {
        const value = of(each);
        return value === undefined ? [] : [{ labels: { query: each.query }, value }];
      }),
    );
  const stateHelp = `How long each query has been in its state. ${listed}`;
  metrics.gauges("stream_query_state_seconds", stateHelp, ["query", "state"], () =>
    read().map(({ query, state, stateSeconds }) => ({
      labels: { query, state },
      value: stateSeconds,
    })),
  );
  const failedHelp = `1 for each query that failed, and whether by deploy_timeout. ${listed}`;
  metrics.gauges("stream_query_failed", failedHelp, ["query", "why"], () =>
    read().flatMap(({ query, failure }) =>
      failure === undefined ? [] : [{ labels: { query, why: failure }, value: 1 }],
    ),
  );
  gauge(
    "stream_query_restarts",
    "Deployments after the first, for whatever reason.",
    (each) => each.restarts,
  );
  gauge(
    "stream_checkpoint_duration_seconds",
    "How long the newest checkpoint took.",
    ({ checkpoint }) => checkpoint && checkpoint.durationMs / 1_000,
  );
  gauge(
    "stream_checkpoint_size_bytes",
    "The size of the newest checkpoint's state.",
    ({ checkpoint }) => checkpoint?.sizeBytes,
  );
  gauge(
    "stream_checkpoint_age_seconds",
    "How old the newest checkpoint of a query that is to run is.",
    (each) => each.checkpointAgeSeconds,
  );
  gauge(
    "stream_checkpoint_interval_seconds",
    "How often a checkpoint is to be taken.",
    (each) => each.checkpointIntervalSeconds,
  );
}

function installFragments(metrics: Metrics, read: () => readonly FragmentGauges[]): void {
  const names = ["query", "fragment", "worker"] as const;
  const series = (of: Of<FragmentGauges>) =>
    read().flatMap((each) => {
      const { query, fragment, worker } = each;
      const value = of(each);
      return value === undefined ? [] : [{ labels: { query, fragment, worker }, value }];
    });
  const counter = (name: string, help: string, of: Of<FragmentGauges>): void =>
    metrics.counters(name, `${help} ${listed}`, names, () => series(of));
  const gauge = (name: string, help: string, of: Of<FragmentGauges>): void =>
    metrics.gauges(name, `${help} ${listed}`, names, () => series(of));
  counter("stream_rows_in_total", "Rows from sources and other fragments.", (f) => f.rowsIn);
  counter("stream_rows_out_total", "Rows to sinks and other fragments.", (f) => f.rowsOut);
  counter("stream_bytes_in_total", "Bytes from sources.", (f) => f.bytesIn);
  counter("stream_bytes_out_total", "Bytes to sinks and other fragments.", (f) => f.bytesOut);
  counter("stream_late_rows_total", "Rows that came too late for a window.", (f) => f.lateRows);
  counter("stream_malformed_rows_total", "Records that could not be read.", (f) => f.malformed);
  gauge("stream_state_bytes", "State, read buffers and edges.", (f) => f.stateBytes);
  gauge("stream_backlog_bytes", "Sent to fragments and not taken yet.", (f) => f.backlogBytes);
  gauge(
    "stream_watermark_lag_seconds",
    "How far event time is behind the clock, where it is a clock's.",
    (f) => f.watermarkLagSeconds,
  );
  gauge(
    "stream_backpressure_ratio",
    "The share of time that it waited for room behind it.",
    (f) => f.backpressureRatio,
  );
  gauge("stream_busy_ratio", "The share of time at work on its thread.", (f) => f.busyRatio);
}
