/** Formats a run's figures for people. */

import type { CommandContext } from "../../../ground/command/index.ts";
import { formatFields, type Paint, printable, TableWriter } from "../../../ground/command/index.ts";
import { findMaxAnswer } from "../core/find-max.ts";
import type { SummarizedRun } from "../core/report/summarize-run.ts";

export function printSummary({ terminal }: CommandContext, run: SummarizedRun): void {
  const { paint } = terminal;
  const isWell = run.status === "COMPLETED";
  terminal.out(
    formatFields(
      [
        ["Run", printable(`${run.run_id}  ${run.test_name}`)],
        [
          "Status",
          `${isWell ? paint.green(run.status) : paint.red(run.status)}${printable(reasonOf(run))}`,
        ],
        ["Verdict", verdictText(run, paint)],
        [
          "Measured",
          `${run.measured_seconds.toFixed(1)} s, ${run.worker_count} ${run.worker_count === 1 ? "worker" : "workers"}`,
        ],
        ["Rate", `${run.qps.toFixed(1)} successes per second`],
        ["Operations", countsText(run)],
        ["Unserved", unservedText(run)],
        ...(run.resent_requests === null || run.resent_requests === 0
          ? []
          : ([["Sent again", resentText(run.resent_requests)]] as [string, string][])),
        ...frozenFields(run),
        ...answeringFields(run),
        ...(run.find_max === null
          ? []
          : ([
              [
                "Maximum",
                `${findMaxAnswer(run.find_max)}, ${run.find_max.qps.toFixed(1)} per second with ${run.find_max.max_concurrency}: ${printable(run.find_max.reason)}`,
              ],
            ] as [string, string][])),
      ],
      paint,
    ),
  );
  printOperations(terminal, run);
  printErrors(terminal, run);
  for (const { state, text } of run.slos) {
    const mark = state === "MET" ? paint.green("met   ") : paint.red("missed");
    terminal.out(`${mark} ${printable(text)}\n`);
  }
  const missed = new Set(run.slos.map(({ text }) => text));
  for (const reason of run.reasons.filter((each) => !missed.has(each))) {
    terminal.out(`${paint.red("failed")} ${printable(reason)}\n`);
  }
  for (const text of run.allowances)
    terminal.out(`${paint.yellow("note   ")} ${printable(text)}\n`);
  for (const text of run.warnings) terminal.out(`${paint.yellow("warning")} ${printable(text)}\n`);
}

/** The verdict of a run that passed while its load generator was saturated. */
export const boundPass = "PASSED, with a reservation about the load generator";

function verdictText(
  { verdict, reasons, slos, status, generator_bound: isBound }: SummarizedRun,
  paint: Paint,
): string {
  if (verdict === "FAILED")
    return `${paint.red("FAILED")}: ${printable(reasons[0] ?? "an objective is missed")}`;
  if (verdict === null) {
    if (status === "CANCELLED" || status === "FAILED") return "none: the run did not reach its end";
    return slos.length === 0 ? "none: the template has no objectives" : "none yet";
  }
  return isBound ? paint.yellow(`${boundPass}: see the warning`) : paint.green("PASSED");
}

function countsText(run: SummarizedRun): string {
  const { total_operations: total, failed_operations: failed } = run;
  return `${total}: ${total - failed} succeeded, ${failed} failed (${run.error_rate_pct.toFixed(3)} %)`;
}

/** Unserved arrivals never began, or have no answer. */
function unservedText({ unserved, unserved_pct: percent }: SummarizedRun): string {
  if (unserved === null) return "not known";
  return `${unserved} ${unserved === 1 ? "arrival" : "arrivals"} (${(percent ?? 0).toFixed(3)} % of what was due)`;
}

function resentText(resent: number): string {
  return `${resent} ${resent === 1 ? "request" : "requests"}, because the target had closed the connection after an answer`;
}

function frozenFields(run: SummarizedRun): [string, string][] {
  const { generator_frozen_ms: ms, skipped_arrivals: skipped } = run;
  if (ms === null || ms === 0) return [];
  const unsent = skipped === null || skipped === 0 ? "" : `; ${skipped} arrivals were not sent`;
  return [["Generator", `did not run for ${(ms / 1000).toFixed(2)} s${unsent}`]];
}

function answeringFields(run: SummarizedRun): [string, string][] {
  const { availability_pct: available, longest_silence_ms: silence } = run;
  if (available === null || silence === null) return [];
  // Rounded down, so that less than 100 % never shows as 100.
  const shown = (Math.floor(available * 1000) / 1000).toString();
  return [
    ["Available", `${shown} % of the time; longest silence ${(silence / 1000).toFixed(2)} s`],
  ];
}

type Terminal = CommandContext["terminal"];

function printOperations(terminal: Terminal, run: SummarizedRun): void {
  const right = { align: "right" } as const;
  const titles = ["succeeded", "failed", "unserved", "p50 ms", "p95 ms", "p99 ms", "max ms"];
  const table = new TableWriter(
    [{ title: "operation", align: "left" }, ...titles.map((title) => ({ title, ...right }))],
    { widthMax: 40, paintTitle: terminal.paint.bold },
    (text) => terminal.out(text),
  );
  const latencies = (latency: Latency): readonly string[] =>
    (["p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "max_latency_ms"] as const).map(
      (field) => latencyText(latency, field),
    );
  const line = (name: string, { ops, errors, unserved }: Counts, latency: Latency): void =>
    table.row([
      name,
      `${ops - errors}`,
      `${errors}`,
      unserved === null ? "-" : `${unserved}`,
      ...latencies(latency),
    ]);
  for (const each of run.operations) line(each.operation, each, each);
  const { total_operations: ops, failed_operations: errors, unserved } = run;
  line("ALL", { ops, errors, unserved }, run);
  if (run.failed_latency !== null) {
    const failed = { ...run.failed_latency, at_least: [] };
    table.row(["(failed only)", "-", `${errors}`, "-", ...latencies(failed)]);
  }
  table.end();
}

/** `>= 4012.00` where the figure is a lower bound. */
export function latencyText(latency: Latency, field: ShownLatency): string {
  const ms = latency[field];
  if (ms === null) return "-";
  return `${latency.at_least.includes(field) ? ">= " : ""}${ms.toFixed(2)}`;
}

function printErrors(terminal: Terminal, run: SummarizedRun): void {
  const kinds = Object.entries(run.errors_by_kind).sort(([, a], [, b]) => b - a);
  for (const [kind, count] of kinds) {
    const example = run.error_examples[kind];
    const said = example === undefined ? "" : `, for example: ${example}`;
    terminal.out(`${terminal.paint.red("error ")} ${printable(`${count} × ${kind}${said}`)}\n`);
  }
}

type Counts = Pick<SummarizedRun["operations"][number], "ops" | "errors" | "unserved">;
type Latency = Pick<SummarizedRun, ShownLatency | "at_least">;
type ShownLatency = `${"p50" | "p95" | "p99" | "max"}_latency_ms`;

function reasonOf({ cancellation_reason: reason }: SummarizedRun): string {
  return reason === null ? "" : `: ${reason}`;
}
