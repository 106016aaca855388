/** Tables of the HTML report. */
import { findMaxAnswer } from "../find-max.ts";
import type { Latency, LatencyName } from "../latency.ts";
import { writeScenario } from "../scenario-codec.ts";
import type { Moment } from "./chart-data.ts";
import { formatCount, formatMs } from "./chart-scale.ts";
import { lineChart } from "./charts.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import type { RunReport } from "./run-report.ts";

export function sloSection({ record: { slos } }: RunReport): Markup | "" {
  if (slos.length === 0) return "";
  const rows = slos.map(
    ({ state, text }) =>
      html`<tr><td class="${state === "MET" ? "met" : "missed"}">${state === "MET" ? "✓ met" : state === "MISSED" ? "✗ missed" : "no data"}</td><td>${text}</td></tr>`,
  );
  return html`<section><h2>Objectives</h2><div class="scroll"><table>${rows}</table></div></section>`;
}

/** `≥ 4.01 s` where the figure is a lower bound. */
export function latencyText(latency: Latency, name: LatencyName): string {
  const sign = latency.at_least.includes(name) ? "≥ " : "";
  return `${sign}${formatMs(latency[name])}`;
}

const operationLatencies = [
  "avg_latency_ms",
  "p50_latency_ms",
  "p95_latency_ms",
  "p99_latency_ms",
  "max_latency_ms",
] as const satisfies readonly LatencyName[];

export function operationSection({ record: { operations } }: RunReport): Markup | "" {
  if (operations.length === 0) return "";
  const rows = operations.map((each) => {
    const figures: Piece = operationLatencies.map(
      (name) => html`<td class="n">${latencyText(each, name)}</td>`,
    );
    const counts = [each.ops - each.errors, each.errors, each.unserved ?? 0].map(
      (count) => html`<td class="n">${formatCount(count)}</td>`,
    );
    return html`<tr><td>${each.operation}</td><td>${each.query_kind}</td>${counts}<td class="n">${formatCount(each.qps)}</td>${figures}</tr>`;
  });
  const names = [
    "succeeded",
    "failed",
    "unserved",
    "per second",
    "avg",
    "p50",
    "p95",
    "p99",
    "max",
  ];
  return html`<section><h2>Operations</h2><div class="scroll"><table><tr><th>name</th><th>kind</th>${names.map((name) => html`<th class="n">${name}</th>`)}</tr>${rows}</table></div></section>`;
}

export function errorSection({ record }: RunReport, moments: readonly Moment[]): Markup | "" {
  const { failed_operations: failed, total_operations: total, failed_latency: latency } = record;
  if (failed === 0 && moments.every(({ errorsPerSecond }) => errorsPerSecond === 0)) {
    return "";
  }
  const kinds = Object.entries(record.errors_by_kind).sort(([, a], [, b]) => b - a);
  const rows = kinds.map(
    ([kind, count]) =>
      html`<tr><td>${kind}</td><td class="n">${formatCount(count)}</td><td class="n">${((count / Math.max(1, total)) * 100).toFixed(3)} %</td><td>${record.error_examples[kind] ?? ""}</td></tr>`,
  );
  const took =
    latency === null
      ? ""
      : html`<p>Failed operations took ${formatMs(latency.p50_latency_ms)} (p50), ${formatMs(latency.p95_latency_ms)} (p95), ${formatMs(latency.max_latency_ms)} at most. They are in no other latency.</p>`;
  const chart = lineChart({
    label: "Errors a second over time",
    times: moments.map(({ time }) => time),
    lines: [
      {
        name: "errors",
        color: "bad",
        values: moments.map(({ errorsPerSecond }) => errorsPerSecond),
        isFilled: true,
      },
    ],
    format: formatCount,
    warmupEnd: moments.findLast(({ isWarmup }) => isWarmup)?.time ?? 0,
  });
  return html`<div class="pair"><section><h2>Errors a second</h2>${chart}</section><section><h2>Errors by kind</h2><div class="scroll"><table><tr><th>kind</th><th class="n">count</th><th class="n">of all operations</th><th>for example</th></tr>${rows}</table></div>${took}</section></div>`;
}

export function findMaxSection({ find_max: findMax }: RunReport): Markup | "" {
  if (findMax === null) return "";
  const { result, steps } = findMax;
  const answer =
    result === null
      ? "No answer was reached."
      : `${findMaxAnswer(result)}: ${formatCount(result.qps)} operations a second, p95 ${formatMs(result.p95_latency_ms)}; ${result.reason}`;
  const rows = steps.map(
    (step) =>
      html`<tr><td class="n">${step.step_number}</td><td class="n">${step.connections}</td><td class="n">${formatCount(step.qps)}</td><td class="n">${formatMs(step.p95_latency_ms)}</td><td class="n">${step.error_rate_pct.toFixed(2)} %</td><td>${step.outcome ?? "unclear"}</td><td>${step.reason}</td></tr>`,
  );
  const names = ["step", "connections", "per second", "p95", "errors"];
  return html`<section><h2>The most connections</h2><p>${answer}</p><div class="scroll"><table><tr>${names.map((name) => html`<th class="n">${name}</th>`)}<th>outcome</th><th>why</th></tr>${rows}</table></div></section>`;
}

/** Every setting by its path; statements as they are. */
export function configSection({ scenario }: RunReport): Markup {
  const { target: whole, workload: load, ...written } = writeScenario(scenario);
  const { operations, ...workload } = load;
  const { load_sql: makes, reset_sql: resets, ...target } = whole;
  const { scaling, find_max, guardrails, verdict } = written;
  const settings = flatten({
    target,
    workload,
    scaling,
    find_max,
    guardrails,
    verdict,
  }).filter(([, value]) => value !== "null" && value !== "[]");
  const half = Math.ceil(settings.length / 2);
  const table = (rows: readonly (readonly [string, string])[]): Markup =>
    html`<table class="config">${rows.map(([path, value]) => html`<tr><td>${path}</td><td>${value}</td></tr>`)}</table>`;
  const statements = operations.map(
    ({ name, weight, statements: texts, transaction }) =>
      html`<tr><td>${name}<br>weight ${weight}${transaction ? ", a transaction" : ""}</td><td><pre>${texts.join(";\n")}</pre></td></tr>`,
  );
  const data = [
    ...(makes.length === 0 ? [] : [["Statements that make the data", makes] as const]),
    ...(resets.length === 0 ? [] : [["Statements that reset them", resets] as const]),
  ].map(
    ([name, texts]) =>
      html`<details><summary>${name}</summary><pre>${texts.join(";\n")}</pre></details>`,
  );
  return html`<section><h2>Configuration</h2><div class="pair">${table(settings.slice(0, half))}${table(settings.slice(half))}</div></section><section><h2>Statements</h2><table class="config">${statements}</table>${data}</section>`;
}

function flatten(value: object, path = ""): readonly (readonly [string, string])[] {
  return Object.entries(value).flatMap(([name, own]: [string, unknown]) => {
    const place = path === "" ? name : `${path}.${name}`;
    const isMapping = typeof own === "object" && own !== null && !Array.isArray(own);
    if (isMapping) return flatten(own, place);
    return [[place, typeof own === "string" ? own : JSON.stringify(own)] as const];
  });
}
