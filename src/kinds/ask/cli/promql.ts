/** `capstan promql`: prints a query's answer as a table, and as a chart in a terminal. */

import type { CommandContext } from "../../../ground/command/index.ts";
import { Failure, formatCount, printable, TableWriter } from "../../../ground/command/index.ts";
import type { PromqlExplanation } from "../run/index.ts";
import { drawChart, type Line } from "./chart.ts";
import { pointAtError } from "./point-at-error.ts";
import { type Moment, momentOf, type PromqlOptions } from "./promql-options.ts";

type Point = readonly [seconds: number, value: string];
interface ResultSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
  readonly histogram?: readonly [number, { readonly count: string; readonly sum: string }];
  readonly histograms?: readonly (readonly [
    number,
    { readonly count: string; readonly sum: string },
  ])[];
}
interface Answer {
  readonly data: {
    readonly resultType: "vector" | "matrix" | "scalar" | "string";
    readonly result: readonly ResultSeries[] | Point;
  };
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

export async function runPromql(
  context: CommandContext,
  query: string,
  options: PromqlOptions,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  const moment = momentOf(options, nowMs);
  if (options.explain === true) {
    await explain(context, query, moment, signal);
    return;
  }
  const path = moment.kind === "instant" ? "/api/v1/query" : "/api/v1/query_range";
  const form = formOf(query, moment);
  if (options.timeout !== undefined) form.set("timeout", String(options.timeout));
  const silenceMsMax = (options.timeout ?? 120) * 1_000 + 10_000;
  const answer = await asked<Answer>(context, path, form, query, silenceMsMax, signal);
  if (context.json) {
    context.terminal.out(`${JSON.stringify(answer)}\n`);
    return;
  }
  show(context, answer, options.points === true);
  for (const note of [...(answer.warnings ?? []), ...(answer.infos ?? [])]) {
    context.terminal.err(`${context.terminal.paintError.yellow("note:")} ${printable(note)}\n`);
  }
}

function formOf(query: string, moment: Moment): URLSearchParams {
  const form = new URLSearchParams({ query });
  if (moment.kind === "instant") {
    form.set("time", String(moment.timeMs / 1000));
    return form;
  }
  form.set("start", String(moment.startMs / 1000));
  form.set("end", String(moment.endMs / 1000));
  form.set("step", String(moment.stepMs / 1000));
  return form;
}

async function asked<T>(
  { client }: CommandContext,
  path: string,
  form: URLSearchParams,
  query: string,
  silenceMsMax: number,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await client.json<T>(path, { method: "POST", form, silenceMsMax, signal });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    const message = pointAtError(query, thrown.message);
    throw new Failure(thrown.code, message, thrown.exitCode, thrown.hint);
  }
}

async function explain(
  context: CommandContext,
  query: string,
  moment: Moment,
  signal: AbortSignal,
): Promise<void> {
  const path = "/api/v1/query_explain";
  const form = formOf(query, moment);
  const { data } = await asked<{ data: PromqlExplanation }>(
    context,
    path,
    form,
    query,
    30_000,
    signal,
  );
  const { terminal, json } = context;
  if (json) {
    terminal.out(`${JSON.stringify(data)}\n`);
    return;
  }
  terminal.out(`${data.tree}\n\n`);
  const table = tableOf(context, [
    ["Leaf", "left"],
    ["Gives", "left"],
    ["Shards", "right"],
    ["Segments", "right"],
    ["Head", "left"],
    ["Why", "left"],
  ]);
  for (const leaf of data.leaves) {
    const { shardCount, segmentCount } = leaf;
    const head = leaf.fromHead ? "yes" : "no";
    table.row([leaf.text, leaf.output, String(shardCount), String(segmentCount), head, leaf.why]);
  }
  table.end();
}

function show(context: CommandContext, { data }: Answer, points: boolean): void {
  const { terminal } = context;
  if (data.resultType === "scalar" || data.resultType === "string") {
    terminal.out(`${printable((data.result as Point)[1])}\n`);
    return;
  }
  const series = data.result as readonly ResultSeries[];
  if (series.length === 0) {
    terminal.err("no series\n");
    return;
  }
  if (data.resultType === "vector") showVector(context, series);
  else if (points) showPoints(context, series);
  else showRange(context, series);
}

function showVector(context: CommandContext, series: readonly ResultSeries[]): void {
  const table = tableOf(context, [
    ["Series", "left"],
    ["Value", "right"],
  ]);
  for (const { metric, value, histogram } of series) {
    table.row([seriesText(metric), value?.[1] ?? histogramText(histogram?.[1])]);
  }
  table.end();
  if (context.terminal.interactive) {
    context.terminal.out(
      context.terminal.paint.dim(`${formatCount(series.length, "series", "series")}\n`),
    );
  }
}

function showPoints(context: CommandContext, series: readonly ResultSeries[]): void {
  const table = tableOf(context, [
    ["Series", "left"],
    ["Time", "left"],
    ["Value", "right"],
  ]);
  for (const { metric, values = [], histograms = [] } of series) {
    const name = seriesText(metric);
    for (const [seconds, value] of values) table.row([name, timeText(seconds), value]);
    for (const [seconds, histogram] of histograms) {
      table.row([name, timeText(seconds), histogramText(histogram)]);
    }
  }
  table.end();
}

function showRange(context: CommandContext, series: readonly ResultSeries[]): void {
  const { terminal } = context;
  const lines = series.map(
    ({ metric, values = [] }): Line => ({
      name: seriesText(metric),
      points: values.map(([seconds, value]) => [seconds * 1000, Number(value)] as const),
    }),
  );
  if (terminal.interactive) terminal.out(drawChart(lines, terminal.columns, terminal.paint));
  const table = tableOf(context, [
    ["Series", "left"],
    ["Points", "right"],
    ["Min", "right"],
    ["Mean", "right"],
    ["Max", "right"],
    ["Last", "right"],
  ]);
  for (const [index, { metric, values = [], histograms = [] }] of series.entries()) {
    const numbers = values.map(([, value]) => Number(value));
    const count = values.length + histograms.length;
    const last = values.at(-1)?.[1] ?? histogramText(histograms.at(-1)?.[1]);
    const name = lines[index]?.name ?? seriesText(metric);
    const { min, mean, max } = summaryOf(numbers);
    table.row([name, String(count), short(min), short(mean), short(max), last]);
  }
  table.end();
}

function summaryOf(numbers: readonly number[]): { min: number; mean: number; max: number } {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  for (const value of numbers) {
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
  }
  if (numbers.length === 0) return { min: Number.NaN, mean: Number.NaN, max: Number.NaN };
  return { min, mean: sum / numbers.length, max };
}

function short(value: number): string {
  return Number.isNaN(value) ? "-" : String(Number(value.toPrecision(6)));
}

function histogramText(
  histogram: { readonly count: string; readonly sum: string } | undefined,
): string {
  return histogram === undefined ? "" : `count ${histogram.count}, sum ${histogram.sum}`;
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** Prometheus's format: the name, then the other labels. */
function seriesText(metric: Readonly<Record<string, string>>): string {
  const { __name__: name = "", ...labels } = metric;
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${quotedName(label)}=${JSON.stringify(value)}`,
  );
  const plain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name);
  if (plain && pairs.length === 0) return name;
  const inside = plain || name === "" ? pairs : [JSON.stringify(name), ...pairs];
  return `${plain ? name : ""}{${inside.join(", ")}}`;
}

function quotedName(label: string): string {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) ? label : JSON.stringify(label);
}

function tableOf(
  { terminal }: CommandContext,
  columns: readonly (readonly [title: string, align: "left" | "right"])[],
): TableWriter {
  return new TableWriter(
    columns.map(([title, align]) => ({ title, align })),
    { widthMax: 120, paintTitle: terminal.paint.bold },
    (text) => terminal.out(text),
  );
}
