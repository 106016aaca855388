/** Metrics of the cluster's dynamic tables. Only the leading coordinator exposes them. */
import type { Metrics } from "../../ground/observe/index.ts";
import type { RefreshBacklog } from "./store/overview.ts";

export interface RefreshGauges extends Omit<RefreshBacklog, "blockedCounts" | "statusCounts"> {
  /** Counts by the reason for waiting. */
  readonly blockedCounts: Readonly<Record<string, number>>;
  readonly statusCounts: Readonly<Record<string, number>>;
}

/**
 * `read` gives the current numbers, or undefined when the gauges have no values. Metrics for
 * autoscalers are also exposed under their bare names. The returned function observes a refresh's
 * duration, in seconds.
 */
export function createRefreshMetrics(
  metrics: Metrics,
  read: () => RefreshGauges | undefined,
): (durationSeconds: number) => void {
  type Of = (gauges: RefreshGauges) => number | undefined;
  const shown = (of: Of) => (): number => {
    const gauges = read();
    return gauges === undefined ? Number.NaN : (of(gauges) ?? Number.NaN);
  };
  const gauge = (name: string, help: string, of: Of): void => {
    metrics.gauge(name, help, [], shown(of));
  };
  const scalingGauge = (name: string, help: string, of: Of): void => {
    gauge(name, help, of);
    metrics.bare.gauge(name, `${help} As capstan_${name}.`, [], shown(of));
  };
  scalingGauge(
    "pending_refresh_count",
    "Refreshes that are claimed or can be claimed now, and parts of refreshes that wait. Aggregate with max.",
    (g) => g.pendingRefreshCount,
  );
  scalingGauge(
    "pending_refresh_parts",
    "Parts of refreshes that are not done: a worker for each is of use. Aggregate with max.",
    (g) => g.pendingPartCount,
  );
  metrics.gauges(
    "blocked_refresh_count",
    "Refreshes that no worker could begin now, by what they wait for.",
    ["reason"],
    () =>
      Object.entries(read()?.blockedCounts ?? {}).map(([reason, value]) => ({
        labels: { reason },
        value,
      })),
  );
  const duration = "How long refreshes took that did something, from claim to publication.";
  const durations = [
    metrics.histogram("refresh_duration_seconds", duration),
    metrics.bare.histogram("refresh_duration_seconds", `${duration} As capstan_…`),
  ];
  gauge("refresh_claims", "Refreshes that workers have claimed.", (g) => g.claimedCount);
  scalingGauge(
    "refresh_backlog_seconds",
    "How long the oldest refresh that could begin has waited.",
    (g) => g.refreshBacklogSeconds,
  );
  scalingGauge(
    "refresh_duration_p95",
    "Seconds, of the last refreshes that did something.",
    (g) => g.refreshDurationP95Seconds,
  );
  gauge(
    "dynamic_tables_late",
    "Dynamic tables that are older than their target lag.",
    (g) => g.lateCount,
  );
  gauge(
    "dynamic_table_lag_missed",
    "How often target lags have been missed, all tables.",
    (g) => g.lagMissedCount,
  );
  metrics.gauges("dynamic_tables", "Dynamic tables, by status.", ["status"], () =>
    Object.entries(read()?.statusCounts ?? {}).map(([status, value]) => ({
      labels: { status },
      value,
    })),
  );
  const lags = (name: string, help: string, of: (lag: RefreshGauges["lags"][number]) => number) =>
    metrics.gauges(name, help, ["dynamic_table"], () =>
      (read()?.lags ?? []).map((lag) => ({
        labels: { dynamic_table: lag.dynamicTable },
        value: of(lag),
      })),
    );
  lags(
    "dynamic_table_lag_seconds",
    "How old a table's contents are; of the hundred that are nearest to their target lag or beyond it.",
    (lag) => lag.lagSeconds,
  );
  lags(
    "dynamic_table_target_lag_seconds",
    "How old they may be; of the same tables.",
    (lag) => lag.targetLagSeconds,
  );
  return (seconds) => {
    for (const histogram of durations) histogram.observe(seconds);
  };
}
