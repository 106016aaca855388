/** How dynamic tables are doing. Exposed once, by the coordinator that leads: the numbers are the cluster's. */
import type { Metrics } from "./metrics.ts";

export interface RefreshGauges {
  readonly pendingRefreshCount: number;
  readonly claimedCount: number;
  readonly refreshBacklogSeconds: number;
  readonly lateCount: number;
  readonly lagMissedCount: number;
  readonly statusCounts: Readonly<Record<string, number>>;
  /** Bounded in number: names are labels. */
  readonly lags: readonly {
    readonly dynamicTable: string;
    readonly lagSeconds: number;
    readonly targetLagSeconds: number;
  }[];
  readonly refreshDurationP95Seconds: number | undefined;
}

/** `read` gives what is known now; `undefined`: nothing, and the gauges have no values. */
export function createRefreshMetrics(
  metrics: Metrics,
  read: () => RefreshGauges | undefined,
): void {
  const gauge = (name: string, help: string, of: (gauges: RefreshGauges) => number | undefined) =>
    metrics.gauge(name, help, [], () => {
      const gauges = read();
      return gauges === undefined ? Number.NaN : (of(gauges) ?? Number.NaN);
    });
  gauge(
    "pending_refresh_count",
    "Refreshes that wait, claimed ones too. Aggregate with max.",
    (g) => g.pendingRefreshCount,
  );
  gauge("refresh_claims", "Refreshes that workers have claimed.", (g) => g.claimedCount);
  gauge(
    "refresh_backlog_seconds",
    "How long the oldest refresh that could begin has waited.",
    (g) => g.refreshBacklogSeconds,
  );
  gauge(
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
}
