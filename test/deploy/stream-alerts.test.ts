/** The alerting rules for continuous queries, evaluated over what the metrics show in each case. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { createDirectEngine } from "../../src/kinds/ask/promql/testing/direct-engine.ts";
import { runScript } from "../../src/kinds/ask/promql/testing/run-script.ts";

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

const file = join(import.meta.dirname, "../../deploy/alerts.yaml");
const { groups } = parse(readFileSync(file, "utf8")) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

/** Series of `q`, whose rule fires with this value at 15m, and of `other`, whose does not. */
const cases: readonly {
  readonly alert: string;
  readonly series: readonly string[];
  readonly value: number;
}[] = [
  {
    alert: "StreamDeploymentStuck",
    series: [
      'capstan_stream_query_state_seconds{query="q", state="DEPLOYING"} 0+60x20',
      'capstan_stream_query_state_seconds{query="other", state="RUNNING"} 0+60x20',
    ],
    value: 900,
  },
  {
    alert: "StreamDeploymentStuck",
    series: [
      'capstan_stream_query_failed{query="q", why="deploy_timeout"} 1x20',
      'capstan_stream_query_failed{query="other", why="error"} 1x20',
    ],
    value: 1,
  },
  {
    alert: "StreamQueryFailed",
    series: ['capstan_stream_query_failed{query="q", why="error"} 1x20'],
    value: 1,
  },
  {
    alert: "StreamRestarts",
    series: [
      'capstan_stream_query_restarts{query="q"} 0+1x20',
      'capstan_stream_query_restarts{query="other"} 7x20',
    ],
    value: 15,
  },
  {
    alert: "StreamCheckpointOld",
    series: [
      'capstan_stream_checkpoint_age_seconds{query="q"} 0+60x20',
      'capstan_stream_checkpoint_interval_seconds{query="q"} 10x20',
      'capstan_stream_checkpoint_age_seconds{query="other"} 0+60x20',
      'capstan_stream_checkpoint_interval_seconds{query="other"} 600x20',
    ],
    value: 900,
  },
  {
    alert: "StreamWatermarkLag",
    series: [
      'capstan_stream_watermark_lag_seconds{query="q", fragment="s0.0", worker="w"} 0+30x20',
      'capstan_stream_watermark_lag_seconds{query="other", fragment="s0.0", worker="w"} 12x20',
    ],
    value: 450,
  },
  {
    alert: "StreamBackpressure",
    series: [
      'capstan_stream_backpressure_ratio{query="q", fragment="s0.0", worker="w"} 0.97x20',
      'capstan_stream_backpressure_ratio{query="q", fragment="s1.0", worker="w"} 0.1x20',
      'capstan_stream_backpressure_ratio{query="other", fragment="s0.0", worker="w"} 0.5x20',
    ],
    value: 0.97,
  },
];

for (const { alert, series, value } of cases) {
  test(`[SD67] ${alert} fires for the query that it is about, with ${value}, and for no other`, async () => {
    const rule = rules.find((each) => each.alert === alert);
    assert.ok(rule !== undefined);
    const expr = rule.expr.replaceAll("\n", " ");
    const loaded = series.map((line) => `  ${line.replace("{", '{job="capstan", ')}`).join("\n");
    const script = `load 1m\n${loaded}\n\neval instant at 15m ${expr}\n  {query="q"} ${value}\n`;
    const [outcome] = await runScript(alert, script, createDirectEngine(1));
    assert.ok(outcome !== undefined);
    assert.equal(outcome.failure, undefined);
  });
}

test("[SD67] every rule for continuous queries has a case", () => {
  const named = groups.flatMap((group) =>
    group.rules.flatMap((rule) => (rule.alert.startsWith("Stream") ? rule.alert : [])),
  );
  assert.deepEqual(new Set(cases.map(({ alert }) => alert)), new Set(named));
});
