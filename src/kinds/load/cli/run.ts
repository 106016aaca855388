/** A load test from the command line: prepared, started, followed to its end. Rules: LC1 to LC5. */
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { ApiClient, CommandContext } from "../../../ground/command/index.ts";
import { exitCodes, Failure, failureOf, printable } from "../../../ground/command/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { SummarizedRun } from "../core/report/summarize-run.ts";
import { isTerminal } from "../core/run-state.ts";
import type { RunUpdate } from "../core/run-update.ts";
import { splitSecret } from "../templates/target-url.ts";
import { readTemplateText } from "../templates/template-yaml.ts";
import { asUsage, asUsageUnlessToken } from "./as-usage.ts";
import { isRegression, printComparisons, readComparisons, undecidedText } from "./comparison.ts";
import { type ReportFiles, writeReports } from "./look.ts";
import { latencyText, printSummary } from "./summary.ts";

export interface LoadRunOptions extends ReportFiles {
  readonly target?: string;
  readonly allowHost: readonly string[];
  readonly set: readonly string[];
  readonly name?: string;
  readonly loadData?: boolean;
  readonly resetData?: boolean;
  readonly failOnSlo?: boolean;
  /** The id of the run that this one must not be worse than. */
  readonly failOnRegression?: string;
  /** `true` writes to standard output. */
  readonly json?: string | boolean;
}

/** Time limit for preparing, which may load data. */
const prepareMsMax = 1_800_000;
/** Time limit after the run's end for the final record and the server's own figures. */
const recordMsMax = 60_000;
const enrichmentMsMax = 20_000;

/** Returns whether the command exits with status 0. */
export async function runLoad(
  context: CommandContext,
  template: string,
  options: LoadRunOptions,
  clock: Clock,
  interrupted: AbortSignal,
): Promise<boolean> {
  const { client, terminal, json } = context;
  const { failOnRegression: base } = options;
  // Checked before the run costs anything.
  if (base !== undefined) await checkBase(client, base);
  const body = { ...(await templateOf(context, template)), ...requestOf(options) };
  terminal.err(options.loadData === true ? "making the data, preparing…\n" : "preparing…\n");
  const { test_id: id } = await client
    .json<{ test_id: string }>("/api/runs", {
      method: "POST",
      body,
      silenceMsMax: prepareMsMax,
      signal: interrupted,
    })
    .catch((thrown: unknown) => asUsageUnlessToken(client, thrown));
  await client.json(`/api/runs/${id}/start`, {
    method: "POST",
    body: {},
    silenceMsMax: prepareMsMax, // The start may reset the data first.
  });
  terminal.err(`${id} started; ${client.url}/load/runs/${encodeURIComponent(id)}\n`);
  await follow(context, id, clock, interrupted);
  await writeReports(client, id, options);
  const summary = await client.json<SummarizedRun>(`/api/tests/${id}/report.json`);
  const comparisons = base === undefined ? undefined : await readComparisons(client, [base, id]);
  const told = comparisons === undefined ? summary : { ...summary, comparison: comparisons[0] };
  if (typeof options.json === "string") {
    await writeFile(options.json, `${JSON.stringify(told, null, 2)}\n`);
  }
  if (json) {
    terminal.out(`${JSON.stringify(told)}\n`);
  } else {
    printSummary(context, summary);
    if (comparisons !== undefined) printComparisons(context, comparisons);
  }
  terminal.err(undecidedText(comparisons ?? []));
  return isWell(summary, options) && !isRegression(comparisons ?? []);
}

/** LC6 */
export async function checkBase(client: Pick<ApiClient, "json">, base: string): Promise<void> {
  const path = `/api/tests/${encodeURIComponent(base)}/report.json`;
  const { total_operations: total, failed_operations: failed } = await client
    .json<SummarizedRun>(path)
    .catch(asUsage);
  if (total - failed > 0) return;
  throw new Failure(
    "bad_request",
    `nothing succeeded in run ${printable(base)}: no run can be compared with it`,
    exitCodes.usage,
    "name a run that has figures: capstan load list",
  );
}

/** LC1 */
function isWell(
  { status, verdict, has_broken_limits: isBroken }: SummarizedRun,
  { failOnSlo }: LoadRunOptions,
): boolean {
  return status === "COMPLETED" && !isBroken && !(failOnSlo === true && verdict === "FAILED");
}

/** A template file's contents, or the id of a stored template. */
async function templateOf({ client }: CommandContext, template: string) {
  const isFile = /\.(ya?ml|json)$/i.test(template);
  if (isFile && existsSync(template)) {
    const text = readText(template);
    try {
      return { template: readTemplateText(text) };
    } catch (thrown) {
      return asUsage(failureOf(thrown) ?? thrown);
    }
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
    `there is no ${isFile ? "file or " : ""}template ${printable(template)}`,
    exitCodes.usage,
    "capstan load templates lists those that there are.",
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    const { code } = thrown as { readonly code?: string };
    const message = `the file ${printable(file)} cannot be read: ${code ?? messageOf(thrown)}`;
    throw new Failure("bad_request", message, exitCodes.usage);
  }
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
      const waitMsMax = enrichment === "PENDING" ? recordMsMax : enrichmentMsMax;
      if (isDone || clock.nowMs() - endedMs > waitMsMax) return;
    } else {
      terminal.err(`${progressOf(live)}\n`);
    }
    await sleep(clock, 1_000);
  }
}

/** The workers that are not ready yet, and their reasons where known (LC5). */
function waitsFor({ workers }: RunUpdate): string {
  if (workers.length === 0) return "waiting for load workers to start";
  const late = workers.filter(({ status }) => status === "STARTING");
  if (late.length === 0) return "waiting for all load workers to be ready";
  const names = late.map(({ worker_id: id, last_error: error }) =>
    error === null ? id : `${id} (${printable(error)})`,
  );
  return `waiting for ${names.join(", ")} to connect to the target`;
}

export function progressOf(update: RunUpdate): string {
  const { phase, timing, run, find_max: search } = update;
  if (phase === "PREPARING") {
    return `${phase.padEnd(10)} ${timing.phase_elapsed_seconds.toFixed(0)} s  ${waitsFor(update)}`;
  }
  const { aggregate_metrics: all } = run;
  const { qps, p95_latency_ms: p95, total_errors: errors, unserved } = all;
  const { phase_elapsed_seconds: elapsed, phase_duration_seconds: whole } = timing;
  const time = `${elapsed.toFixed(0)}${whole === null ? "" : ` / ${whole}`} s`;
  const latency = p95 === null ? "" : `  p95 ${latencyText(all, "p95_latency_ms")} ms`;
  const step =
    search === null ? "" : `  step ${search.current_step}: ${search.target_workers} connections`;
  return `${(phase === "MEASUREMENT" ? "RUNNING" : phase).padEnd(10)} ${time}  ${qps.toFixed(0)} per second${latency}  ${errors} errors${unserved === null || unserved === 0 ? "" : `  ${unserved} unserved`}${step}`;
}
