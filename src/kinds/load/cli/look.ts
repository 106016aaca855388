/** Commands that show templates, runs and reports of load tests. */
import { writeFile } from "node:fs/promises";
import type { z } from "zod";
import type { ApiClient, CommandContext } from "../../../ground/command/index.ts";
import { type Column, printable, TableWriter } from "../../../ground/command/index.ts";
import type { SummarizedRun } from "../core/report/summarize-run.ts";
import type { testResultSchema } from "../http/result-schemas.ts";
import { asUsage } from "./as-usage.ts";
import { isRegression, printComparisons, readComparisons } from "./comparison.ts";
import { boundPass, printSummary } from "./summary.ts";

export async function listTemplates(context: CommandContext): Promise<void> {
  const { items } = await context.client.json<{
    items: readonly { template_id: string; template_name: string; description: string }[];
  }>("/api/templates");
  print(
    context,
    items,
    ["id", "name", "description"],
    items.map((each) => [each.template_id, each.template_name, each.description]),
  );
}

export async function listTests(context: CommandContext, search: string | undefined) {
  const asked = new URLSearchParams({ limit: "50", ...(search === undefined ? {} : { search }) });
  const { items } = await context.client.json<{
    items: readonly z.output<typeof testResultSchema>[];
  }>(`/api/tests?${asked}`);
  print(
    context,
    items,
    ["id", "name", "status", "verdict", "operations", "per second", "p95 ms"],
    items.map((each) => [
      each.test_id,
      each.test_name,
      each.status,
      each.verdict === "PASSED" && each.generator_bound ? boundPass : (each.verdict ?? "-"),
      `${each.total_operations}`,
      each.qps?.toFixed(1) ?? "-",
      each.p95_latency_ms?.toFixed(2) ?? "-",
    ]),
  );
}

export async function stopTest({ client, terminal, json }: CommandContext, id: string) {
  const path = `/api/tests/${encodeURIComponent(id)}/stop`;
  const state = await client.json<{ status: string }>(path, { method: "POST", body: {} });
  terminal.out(json ? `${JSON.stringify(state)}\n` : `${printable(`${id} is ${state.status}`)}\n`);
}

export interface ReportFiles {
  readonly html?: string;
  readonly junit?: string;
  readonly hgrm?: string;
}

export async function reportTest(
  context: CommandContext,
  id: string,
  files: ReportFiles,
): Promise<void> {
  const { client, terminal, json } = context;
  await writeReports(client, id, files);
  const summary = await client.json<SummarizedRun>(
    `/api/tests/${encodeURIComponent(id)}/report.json`,
  );
  if (json) terminal.out(`${JSON.stringify(summary)}\n`);
  else printSummary(context, summary);
}

export async function writeReports(
  client: ApiClient,
  id: string,
  { html, junit, hgrm }: ReportFiles,
): Promise<void> {
  for (const [file, suffix] of [
    [html, "html"],
    [junit, "xml"],
    [hgrm, "hgrm"],
  ] as const) {
    if (file === undefined) continue;
    const response = await client.open(`/api/tests/${encodeURIComponent(id)}/report.${suffix}`);
    await writeFile(file, response);
  }
}

/** Returns whether no run is a regression. */
export async function compareTests(
  context: CommandContext,
  ids: readonly string[],
): Promise<boolean> {
  const comparisons = await readComparisons(context.client, ids).catch(asUsage);
  if (context.json) context.terminal.out(`${JSON.stringify(comparisons)}\n`);
  else printComparisons(context, comparisons);
  return !isRegression(comparisons);
}

function print(
  { terminal, json }: CommandContext,
  items: readonly unknown[],
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  if (json) {
    terminal.out(`${JSON.stringify(items)}\n`);
    return;
  }
  const columns = titles.map((title): Column => ({ title, align: "left" }));
  const table = new TableWriter(
    columns,
    { widthMax: 60, paintTitle: terminal.paint.bold },
    (text) => terminal.out(text),
  );
  for (const row of rows) table.row(row);
  table.end();
}
