/**
 * A load test from the command line: prepared, started, followed to its end.
 *
 *   LC1  A line of progress a second on standard error, a summary on standard output. The exit status is 0 only if the run completed and,
 *        where that was asked for, kept its objectives.
 *   LC2  A password in `--target` is sent apart from the address, and printed nowhere.
 *   LC3  Ctrl-C stops the run; the command ends when the run has.
 */
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type Clock, sleep } from "../../kernel/clock.ts";
import {
  isTerminal,
  type RunUpdate,
  readTemplateText,
  type SummarizedRun,
  splitSecret,
} from "../../load/index.ts";
import type { CommandContext } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { printable } from "../output/terminal-text.ts";
import { type ReportFiles, writeReports } from "./look.ts";
import { printSummary } from "./summary.ts";

export interface LoadRunOptions extends ReportFiles {
  readonly target?: string;
  readonly allowHost: readonly string[];
  readonly set: readonly string[];
  readonly name?: string;
  readonly loadData?: boolean;
  readonly resetData?: boolean;
  readonly failOnSlo?: boolean;
  /** `true`: to standard output. */
  readonly json?: string | boolean;
}

/** How long preparing may take: making data takes a while. */
const prepareMsMax = 1_800_000;
const enrichmentMsMax = 20_000;

/** Whether all is well. */
export async function runLoad(
  context: CommandContext,
  template: string,
  options: LoadRunOptions,
  clock: Clock,
  interrupted: AbortSignal,
): Promise<boolean> {
  const { client, terminal, json } = context;
  const body = { ...(await templateOf(context, template)), ...requestOf(options) };
  terminal.err(options.loadData === true ? "making the data, preparing…\n" : "preparing…\n");
  const { test_id: id } = await client.json<{ test_id: string }>("/api/runs", {
    method: "POST",
    body,
    silenceMsMax: prepareMsMax,
    signal: interrupted,
  });
  await client.json(`/api/runs/${id}/start`, {
    method: "POST",
    body: {},
    silenceMsMax: prepareMsMax, // It may reset the data first.
  });
  terminal.err(`${id} started; ${client.url}/api/tests/${id}\n`);
  await follow(context, id, clock, interrupted);
  await writeReports(client, id, options);
  const summary = await client.json<SummarizedRun>(`/api/tests/${id}/report.json`);
  if (typeof options.json === "string") {
    await writeFile(options.json, `${JSON.stringify(summary, null, 2)}\n`);
  }
  if (json) terminal.out(`${JSON.stringify(summary)}\n`);
  else printSummary(context, summary);
  return (
    summary.status === "COMPLETED" && !(options.failOnSlo === true && summary.verdict === "FAILED")
  );
}

/** A file's contents, or the id of what is kept. */
async function templateOf({ client }: CommandContext, template: string) {
  if (/\.(ya?ml|json)$/i.test(template) && existsSync(template)) {
    return { template: readTemplateText(readFileSync(template, "utf8")) };
  }
  const { items } = await client.json<{
    items: readonly { template_id: string; template_name: string }[];
  }>("/api/templates");
  const found =
    items.find(({ template_id: id }) => id === template) ??
    items.find(({ template_name: name }) => name.toLowerCase() === template.toLowerCase());
  if (found !== undefined) return { template_id: found.template_id };
  throw new Failure(
    "not_found",
    `there is no template ${printable(template)}`,
    exitCodes.failure,
    "capstan load templates lists those that there are.",
  );
}

/** LC2 */
function requestOf({ target, allowHost, set, name, loadData, resetData }: LoadRunOptions) {
  const { url = undefined, password = null } = target === undefined ? {} : splitSecret(target);
  return {
    ...(url === undefined ? {} : { target_url: url }),
    ...(password === null ? {} : { password }),
    ...(allowHost.length === 0 ? {} : { allowed_hosts: allowHost }),
    ...(set.length === 0 ? {} : { settings: set }),
    ...(name === undefined ? {} : { test_name: name }),
    ...(loadData === undefined ? {} : { load_data: loadData }),
    ...(resetData === undefined ? {} : { reset_data: resetData }),
  };
}

async function follow(
  { client, terminal }: CommandContext,
  id: string,
  clock: Clock,
  interrupted: AbortSignal,
): Promise<void> {
  let isStopping = false;
  let endedMs: number | undefined;
  for (;;) {
    if (interrupted.aborted && !isStopping) {
      isStopping = true; // LC3
      terminal.err("stopping…\n");
      await client.json(`/api/runs/${id}/stop`, { method: "POST", body: {} });
    }
    const { live } = await client.json<{ live: RunUpdate }>(`/api/tests/${id}`);
    if (isTerminal(live.status)) {
      endedMs ??= clock.nowMs();
      const enrichment = live.enrichment_status;
      const isDone = enrichment !== "PENDING" && enrichment !== "RUNNING";
      if (isDone || clock.nowMs() - endedMs > enrichmentMsMax) return;
    } else {
      terminal.err(`${progressOf(live)}\n`);
    }
    await sleep(clock, 1_000);
  }
}

function progressOf({ phase, timing, run, find_max: search }: RunUpdate): string {
  const { qps, p95_latency_ms: p95, total_errors: errors } = run.aggregate_metrics;
  const { phase_elapsed_seconds: elapsed, phase_duration_seconds: whole } = timing;
  const time = `${elapsed.toFixed(0)}${whole === null ? "" : ` / ${whole}`} s`;
  const latency = p95 === null ? "" : `  p95 ${p95.toFixed(2)} ms`;
  const step =
    search === null ? "" : `  step ${search.current_step}: ${search.target_workers} connections`;
  return `${(phase === "MEASUREMENT" ? "RUNNING" : phase).padEnd(10)} ${time}  ${qps.toFixed(0)} per second${latency}  ${errors} errors${step}`;
}
