/** A run's figures as people read them. */
import type { SummarizedRun } from "../../load/index.ts";
import type { CommandContext } from "../context.ts";
import { TableWriter } from "../output/table.ts";
import { formatFields } from "../output/terminal.ts";
import { printable } from "../output/terminal-text.ts";

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
        ["Measured", `${run.measured_seconds.toFixed(1)} s, ${run.worker_count} workers`],
        ["Rate", `${run.qps.toFixed(1)} per second`],
        [
          "Operations",
          `${run.total_operations}, ${run.failed_operations} failed (${run.error_rate_pct.toFixed(3)} %)`,
        ],
        ...(run.find_max === null
          ? []
          : ([
              [
                "Maximum",
                `${run.find_max.max_concurrency} connections, ${run.find_max.qps.toFixed(1)} per second${run.find_max.true_max ? "" : " (not confirmed)"}: ${printable(run.find_max.reason)}`,
              ],
            ] as [string, string][])),
      ],
      paint,
    ),
  );
  const right = { align: "right" } as const;
  const table = new TableWriter(
    [
      { title: "operation", align: "left" },
      ...["count", "failed", "p50 ms", "p95 ms", "p99 ms", "max ms"].map((title) => ({
        title,
        ...right,
      })),
    ],
    { widthMax: 40, paintTitle: paint.bold },
    (text) => terminal.out(text),
  );
  const line = (name: string, count: number, failed: number, latency: Latency): void =>
    table.row([
      name,
      `${count}`,
      `${failed}`,
      ...[
        latency.p50_latency_ms,
        latency.p95_latency_ms,
        latency.p99_latency_ms,
        latency.max_latency_ms,
      ].map((ms) => (ms === null ? "-" : ms.toFixed(2))),
    ]);
  for (const each of run.operations) line(each.operation, each.ops, each.errors, each);
  line("ALL", run.total_operations, run.failed_operations, run);
  table.end();
  for (const { state, text } of run.slos) {
    const mark = state === "MET" ? paint.green("met   ") : paint.red("missed");
    terminal.out(`${mark} ${printable(text)}\n`);
  }
  for (const warning of run.warnings) terminal.out(`${paint.yellow("warning")} ${warning}\n`);
}

interface Latency {
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly max_latency_ms: number | null;
}

function reasonOf({ cancellation_reason: reason }: SummarizedRun): string {
  return reason === null ? "" : `: ${reason}`;
}
