/** JUnit XML: the run is one case, each objective another, so that a build shows what failed by its name. */
import type { RunReport } from "./run-report.ts";
import { summarizeLatency } from "./summarize-run.ts";

interface Case {
  readonly name: string;
  /** `undefined`: passed. */
  readonly failure: { readonly kind: "failure" | "error"; readonly text: string } | undefined;
}

export function formatJunit(report: RunReport): string {
  const cases = [runCase(report), ...report.slo.slos.map(sloCase)];
  const count = (kind: string): number =>
    cases.filter(({ failure }) => failure?.kind === kind).length;
  const { measured_seconds: seconds, test_name: name, scenario, started_at: at } = report;
  const time = seconds.toFixed(3);
  const totals = `tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}" time="${time}"`;
  const className = `load.${scenario.template_name}`;
  const stamp = at === null ? "" : ` timestamp="${escaped(at.replace(/\.\d+Z$|Z$/, ""))}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="${escaped(name)}" ${totals} skipped="0"${stamp}>`,
    "    <properties>",
    ...propertiesOf(report).map(
      ([key, value]) => `      <property name="${escaped(key)}" value="${escaped(value)}"/>`,
    ),
    "    </properties>",
    ...cases.flatMap((each, at) => caseLines(each, className, at === 0 ? time : "0.000")),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function runCase({ status, cancellation_reason: reason }: RunReport): Case {
  const isDone = status === "COMPLETED";
  const text = `the run is ${status}${reason === null ? "" : `: ${reason}`}`;
  return { name: "run", failure: isDone ? undefined : { kind: "error", text } };
}

function sloCase({ of, metric, limit, state, text }: RunReport["slo"]["slos"][number]): Case {
  const sign = metric === "qps_min" ? ">=" : "<=";
  const name = `${of}: ${metric} ${sign} ${limit}`;
  return { name, failure: state === "MET" ? undefined : { kind: "failure", text } };
}

function caseLines({ name, failure }: Case, className: string, time: string): readonly string[] {
  const head = `    <testcase classname="${escaped(className)}" name="${escaped(name)}" time="${time}"`;
  if (failure === undefined) return [`${head}/>`];
  const { kind, text } = failure;
  return [
    `${head}>`,
    `      <${kind} message="${escaped(text)}">${escaped(text)}</${kind}>`,
    "    </testcase>",
  ];
}

function propertiesOf(report: RunReport): readonly (readonly [string, string])[] {
  const { figures, run_id: runId } = report;
  const numbers = {
    qps: figures.qps,
    total_operations: figures.ops,
    failed_operations: figures.errors,
    ...summarizeLatency(figures.response),
  };
  const shown = Object.entries(numbers).map(
    ([name, value]) => [name, value === null ? "" : String(Number(value.toPrecision(6)))] as const,
  );
  return [["run_id", runId], ...shown];
}

/** What XML cannot hold at all is left out. */
function escaped(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is meant
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff]/gu, "")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("\n", "&#10;")
  );
}
