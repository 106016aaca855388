/**
 * A run as one HTML file: no script, nothing from elsewhere, so that it can be mailed and opened in
 * ten years. Everything that came from people is escaped by `html`.
 */
import { toMs } from "../figures.ts";
import { barsOf, heatMapOf, type Moment, momentsOf } from "./chart-data.ts";
import { formatCount, formatMs } from "./chart-scale.ts";
import { heatMapChart, histogramChart, lineChart } from "./charts.ts";
import { html, Markup, type Piece } from "./markup.ts";
import {
  configSection,
  errorSection,
  findMaxSection,
  latencyText,
  operationSection,
  sloSection,
} from "./report-sections.ts";
import { reportStyle } from "./report-style.ts";
import type { RunReport } from "./run-report.ts";

const momentsMax = 300;
const heatColumnsMax = 120;

export function formatHtmlReport(report: RunReport): string {
  const moments = momentsOf(report.seconds, momentsMax);
  const body = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${report.test_name}: load test</title><style>${new Markup(reportStyle)}</style></head>
<body><main>
${head(report)}${notes(report)}${tiles(report)}
${sloSection(report)}
<div class="pair">${rateSection(report, moments)}${latencySection(report, moments)}</div>
<div class="pair">${distributionSection(report)}${heatSection(report)}</div>
${operationSection(report)}${errorSection(report, moments)}${findMaxSection(report)}${configSection(report)}
<footer>Latency is ${latencyMeaning(report)}. ${percentileMeaning(report)} Warm-up is in the charts and in no figure.</footer>
</main></body></html>
`;
  return body.text;
}

function head(report: RunReport): Markup {
  const { scenario, worker_count: workers, started_at: at } = report;
  const { workload, target } = scenario;
  const load =
    workload.loadMode === "QPS"
      ? `${workload.targetQps ?? "stages of"} operations a second`
      : workload.loadMode === "CONCURRENCY"
        ? `${workload.concurrentConnections} connections`
        : "search for the most connections";
  const parts = [
    scenario.templateName,
    load,
    `${formatCount(report.record.measured_seconds)} s measured`,
    workers === 1 ? "1 worker" : `${workers} workers`,
    target.kind,
    at === null ? "never started" : at.replace("T", " ").replace(/\.\d+Z$/, " UTC"),
    report.run_id,
  ];
  return html`<header><h1>${report.test_name}</h1>${badges(report)}</header><p class="meta">${parts.join(" · ")}</p>`;
}

function badges({ status, record }: RunReport): Piece {
  const tone = status === "COMPLETED" ? "dim" : status === "FAILED" ? "bad" : "warn";
  return [verdictBadge(record), html`<span class="badge ${tone}">${status}</span>`];
}

function verdictBadge({ verdict, generator_bound: isBound }: RunReport["record"]): Markup | "" {
  if (verdict === null) return "";
  if (verdict === "FAILED") return html`<span class="badge bad">failed</span>`;
  if (isBound) return html`<span class="badge warn">passed, with a reservation</span>`;
  return html`<span class="badge good">passed</span>`;
}

function notes({ record, cancellation_reason: reason }: RunReport): Piece {
  const bad = [...(reason === null ? [] : [reason]), ...record.reasons];
  const doubtful = [...record.allowances, ...record.warnings];
  return [
    ...bad.map((text) => html`<p class="note bad">${text}</p>`),
    ...doubtful.map((text) => html`<p class="note">${text}</p>`),
  ];
}

function tiles({ record }: RunReport): Markup {
  const { unserved, availability_pct: available, longest_silence_ms: silence } = record;
  const short = (value: number): string => `${Number(value.toPrecision(3))} %`;
  const shown: readonly (readonly [string, string])[] = [
    ["succeeded a second", formatCount(record.qps)],
    ["p50", latencyText(record, "p50_latency_ms")],
    ["p95", latencyText(record, "p95_latency_ms")],
    ["p99", latencyText(record, "p99_latency_ms")],
    ["p99.9", latencyText(record, "p999_latency_ms")],
    ["longest", latencyText(record, "max_latency_ms")],
    ["operations", formatCount(record.total_operations)],
    [`failed, ${short(record.error_rate_pct)}`, formatCount(record.failed_operations)],
    ...(unserved === null
      ? []
      : ([[`unserved, ${short(record.unserved_pct ?? 0)}`, formatCount(unserved)]] as const)),
    ...(record.resent_requests === null || record.resent_requests === 0
      ? []
      : ([["requests sent again", formatCount(record.resent_requests)]] as const)),
    ...((record.generator_frozen_ms ?? 0) === 0
      ? []
      : ([["generator did not run", formatMs(record.generator_frozen_ms ?? 0)]] as const)),
    ...(available === null ? [] : ([["available", `${floored(available)} %`]] as const)),
    ...(silence === null ? [] : ([["longest silence", formatMs(silence)]] as const)),
  ];
  return html`<div class="tiles">${shown.map(([name, value]) => html`<div class="tile"><b>${value}</b><span>${name}</span></div>`)}</div>`;
}

/** Rounds down, so that less than 100 % never shows as 100. */
function floored(percent: number): string {
  return (Math.floor(percent * 100) / 100).toString();
}

function warmupEnd(moments: readonly Moment[]): number {
  return moments.findLast(({ isWarmup }) => isWarmup)?.time ?? 0;
}

function rateSection({ scenario }: RunReport, moments: readonly Moment[]): Markup {
  const { targetQps: wanted } = scenario.workload;
  const chart = lineChart({
    label: "Successful operations a second over time",
    times: moments.map(({ time }) => time),
    lines: [
      { name: "operations", color: "c1", values: moments.map(({ qps }) => qps), isFilled: true },
    ],
    format: formatCount,
    warmupEnd: warmupEnd(moments),
    mark: wanted === null ? undefined : { value: wanted, name: "asked for" },
  });
  return html`<section><h2>Operations a second</h2>${chart}</section>`;
}

function latencySection(_: RunReport, moments: readonly Moment[]): Markup {
  const of = (share: number): readonly (number | null)[] =>
    moments.map(({ response }) => toMs(response.percentileUs(share)));
  const chart = lineChart({
    label: "Latency over time",
    times: moments.map(({ time }) => time),
    lines: [
      { name: "p99", color: "c3", values: of(0.99) },
      { name: "p95", color: "c2", values: of(0.95) },
      { name: "p50", color: "c1", values: of(0.5) },
    ],
    format: formatMs,
    isLogarithmic: true,
    warmupEnd: warmupEnd(moments),
  });
  return html`<section><h2>Latency</h2>${chart}</section>`;
}

function distributionSection({ response }: RunReport): Markup | "" {
  if (response.count === 0) return "";
  const marks = [
    { name: "p50", value: toMs(response.percentileUs(0.5)) ?? 0 },
    { name: "p95", value: toMs(response.percentileUs(0.95)) ?? 0 },
    { name: "p99", value: toMs(response.percentileUs(0.99)) ?? 0 },
  ];
  const chart = histogramChart("How many took how long", barsOf(response), marks, formatMs);
  return html`<section><h2>How many took how long</h2>${chart}</section>`;
}

function heatSection({ seconds }: RunReport): Markup | "" {
  const moments = momentsOf(seconds, heatColumnsMax);
  if (!moments.some(({ response }) => response.count > 0)) return "";
  const chart = heatMapChart("Latencies over time", heatMapOf(moments), formatMs);
  return html`<section><h2>Latencies over time</h2>${chart}</section>`;
}

function percentileMeaning({ record }: RunReport): string {
  const source =
    record.percentiles_from === "records"
      ? "Percentiles are of the records of all operations."
      : "Percentiles are of merged histograms, off by at most 0.4 %.";
  return `${source} They are of successes, and of arrivals without an answer by how long those waited at least.`;
}

function latencyMeaning({ scenario }: RunReport): string {
  return scenario.workload.loadMode === "QPS"
    ? "from when an operation should have begun to its answer, so waiting counts"
    : "from sending an operation to its answer; a closed loop sends no more than the target takes";
}
