/** Compares runs with a base run: the verdict, its reasons, and every figure of both. */

import type { ApiClient, CommandContext } from "../../../ground/command/index.ts";
import { printable, TableWriter } from "../../../ground/command/index.ts";
import type { RunComparison } from "../core/compare-runs.ts";

/** Compares each run with the first one. */
export async function readComparisons(
  client: ApiClient,
  ids: readonly string[],
): Promise<readonly RunComparison[]> {
  const asked = new URLSearchParams({ ids: ids.join(",") });
  const { comparisons } = await client.json<{ comparisons: readonly RunComparison[] }>(
    `/api/tests/compare?${asked}`,
  );
  return comparisons;
}

export function isRegression(comparisons: readonly RunComparison[]): boolean {
  return comparisons.some(({ verdict }) => verdict === "REGRESSION");
}

/** Empty when every comparison has a verdict (LC6). */
export function undecidedText(comparisons: readonly Pick<RunComparison, "verdict">[]): string {
  return comparisons.some(({ verdict }) => verdict === "INCONCLUSIVE")
    ? "INCONCLUSIVE: whether the run is a regression cannot be told; it does not fail for that\n"
    : "";
}

export function printComparisons(
  { terminal }: CommandContext,
  comparisons: readonly RunComparison[],
): void {
  const { paint } = terminal;
  const tones: Partial<Record<RunComparison["verdict"], (text: string) => string>> = {
    REGRESSION: paint.red,
    IMPROVEMENT: paint.green,
    WARNING: paint.yellow,
    INCONCLUSIVE: paint.yellow,
  };
  for (const each of comparisons) {
    const tone = tones[each.verdict] ?? ((text: string) => text);
    const which = printable(`${each.run_id} against ${each.base_run_id}`);
    terminal.out(`${tone(each.verdict)}  ${which}\n`);
    for (const reason of each.reasons) terminal.out(`  ${printable(reason)}\n`);
    for (const { path } of each.configuration) terminal.out(`  differs: ${printable(path)}\n`);
    printFigures(terminal, each.metrics);
  }
}

function printFigures(
  terminal: CommandContext["terminal"],
  metrics: RunComparison["metrics"],
): void {
  const right = { align: "right" } as const;
  const titles = ["base", "run", "change", "95 % interval"];
  const table = new TableWriter(
    [
      { title: "figure", align: "left" },
      ...titles.map((title) => ({ title, ...right })),
      { title: "verdict", align: "left" },
    ],
    { widthMax: 40, paintTitle: terminal.paint.bold },
    (text) => terminal.out(text),
  );
  for (const each of metrics) {
    const [isOldLeast, isNowLeast] = each.is_least;
    table.row([
      each.of === "ALL" ? names[each.metric] : `${names[each.metric]} of ${each.of}`,
      valueText(each.before, isOldLeast),
      valueText(each.after, isNowLeast),
      changeText(each),
      each.interval_pct === null ? "-" : each.interval_pct.map(signed).join(" to "),
      each.verdict,
    ]);
  }
  table.end();
}

type Metric = RunComparison["metrics"][number];

const names: Readonly<Record<Metric["metric"], string>> = {
  qps: "rate /s",
  p50: "p50 ms",
  p95: "p95 ms",
  p99: "p99 ms",
  error_rate_pct: "failed %",
  unserved_pct: "unserved %",
  availability_pct: "available %",
};

function valueText(value: number | null, isLeast: boolean): string {
  if (value === null) return "-";
  return `${isLeast ? ">= " : ""}${Number(value.toPrecision(5))}`;
}

/** Shares change in percentage points: a change from 0 has no ratio. */
function changeText({ metric, before, after, change_pct: change }: Metric): string {
  if (!metric.endsWith("_pct")) return change === null ? "-" : signed(change);
  if (before === null || after === null) return "-";
  const points = after - before;
  return points === 0 ? "0" : `${points > 0 ? "+" : ""}${Number(points.toPrecision(3))} points`;
}

function signed(percent: number): string {
  const shown = percent.toFixed(1);
  return `${percent > 0 ? "+" : ""}${shown === "-0.0" ? "0.0" : shown} %`;
}
