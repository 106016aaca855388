/** The alerting rules that are shipped ask for metrics that exist, in PromQL that parses. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { parseExpr, selectorsOf } from "../../kinds/ask/promql/core/index.ts";
import { createRefreshMetrics } from "../../kinds/refresh/refresh-metrics.ts";
import { createStreamMetrics } from "../../kinds/stream/fleet/stream-metrics.ts";
import { createSessionMetrics } from "../cluster/session-metrics.ts";
import {
  createApiQueryMetrics,
  createQueueMetrics,
  createWorkerQueryMetrics,
} from "../work/query-metrics.ts";
import { Metrics } from "./metrics.ts";

interface RuleFile {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string };
    }[];
  }[];
}

const file = join(import.meta.dirname, "../../../deploy/alerts.yaml");
const { groups } = parse(readFileSync(file, "utf8")) as RuleFile;
const metrics = new Metrics({ process: "test", version: "0" });
createApiQueryMetrics(metrics);
createQueueMetrics(metrics, () => ({ depth: 0, oldestAgeMs: 0 }));
createWorkerQueryMetrics(metrics);
createSessionMetrics(metrics);
const observeRefresh = createRefreshMetrics(metrics, () => ({
  pendingRefreshCount: 1,
  pendingPartCount: 6,
  blockedCounts: { source_stopped: 2 },
  claimedCount: 0,
  refreshBacklogSeconds: 1,
  lateCount: 1,
  lagMissedCount: 1,
  statusCounts: { ACTIVE: 1, FAILED: 0 },
  lags: [{ dynamicTable: "revenue", lagSeconds: 61.5, targetLagSeconds: 60 }],
  refreshDurationP95Seconds: undefined,
}));
observeRefresh(0.2);
createStreamMetrics(metrics, () => undefined);
const text = await metrics.text();

test("[OB13] what autoscalers ask for has the names of its specification, and durations are a histogram", () => {
  for (const line of [
    'pending_refresh_count{process="test"} 1',
    'capstan_pending_refresh_count{process="test"} 1',
    'pending_refresh_parts{process="test"} 6',
    'refresh_backlog_seconds{process="test"} 1',
    'refresh_duration_p95{process="test"} Nan',
    'capstan_blocked_refresh_count{reason="source_stopped",process="test"} 2',
    "# TYPE refresh_duration_seconds histogram",
    'refresh_duration_seconds_bucket{le="0.25",process="test"} 1',
    'refresh_duration_seconds_bucket{le="0.1",process="test"} 0',
    'capstan_refresh_duration_seconds_count{process="test"} 1',
  ]) {
    assert.ok(text.split("\n").includes(line), line);
  }
});

test("[OB8] there are rules for the control stream, for query latency, for dynamic tables and for streams", () => {
  assert.deepEqual(
    groups.map(({ name }) => name),
    ["capstan-control-stream", "capstan-queries", "capstan-tables", "capstan-streams"],
  );
});

for (const { alert, expr, annotations } of groups.flatMap(({ rules }) => rules)) {
  test(`[OB8] ${alert} asks for metrics that exist`, () => {
    assert.ok(annotations.summary.length > 0);
    const selectors = selectorsOf(parseExpr(expr));
    assert.ok(selectors.length > 0);
    for (const matchers of selectors) {
      const name = matchers.find((matcher) => matcher.name === "__name__")?.value ?? "";
      const family = name.replace(/_(bucket|sum|count)$/, "");
      assert.match(text, new RegExp(`^# TYPE (${name}|${family}) `, "m"), name);
    }
  });
}

test("[OB9] tables are counted by status, and the lag of each is beside its target", () => {
  for (const line of [
    'capstan_dynamic_tables{status="FAILED",process="test"} 0',
    'capstan_dynamic_table_lag_seconds{dynamic_table="revenue",process="test"} 61.5',
    'capstan_dynamic_table_target_lag_seconds{dynamic_table="revenue",process="test"} 60',
  ]) {
    assert.ok(text.split("\n").includes(line), line);
  }
});
