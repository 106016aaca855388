/**
 * JUnit XML: the run is one case, its limits are another, each objective one more, so that a build
 * shows what failed by its name.
 */
import { latenciesOf } from "../latency.ts";
import { isLowerLimit, missedSlos } from "../slo.ts";
import type { RunReport } from "./run-report.ts";

interface Case {
  readonly name: string;
  /** Undefined when the case passed. */
  readonly failure:
    | { readonly kind: "failure" | "error" | "skipped"; readonly text: string }
    | undefined;
}

export function formatJunit(report: RunReport): string {
  const judged = [limitsCase(report), ...report.record.slos.map(sloCase)];
  const cases = [runCase(report), ...judged.map((each) => atEnd(each, report))];
  const count = (kind: string): number =>
    cases.filter(({ failure }) => failure?.kind === kind).length;
  const { record, test_name: name, scenario, started_at: at } = report;
  const { measured_seconds: seconds } = record;
  const time = seconds.toFixed(3);
  const totals = `tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}" time="${time}"`;
  const className = `load.${scenario.templateName}`;
  const stamp = at === null ? "" : ` timestamp="${escaped(at.replace(/\.\d+Z$|Z$/, ""))}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="${escaped(name)}" ${totals} skipped="${count("skipped")}"${stamp}>`,
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

/** A case that held until the run was stopped has not passed (VE5). */
function atEnd(each: Case, { status }: RunReport): Case {
  if (status === "COMPLETED" || each.failure !== undefined) return each;
  const text = `the run is ${status}: it was not measured to its end`;
  return { ...each, failure: { kind: "skipped", text } };
}

/** The limits that fail a run whatever its objectives. */
function limitsCase({ record }: RunReport): Case {
  const missed = new Set(missedSlos({ verdict: null, slos: record.slos }));
  const broken = record.reasons.filter((reason) => !missed.has(reason));
  const text = broken.join("; ");
  return { name: "limits", failure: text === "" ? undefined : { kind: "failure", text } };
}

function sloCase({ of, metric, limit, state, text }: RunReport["record"]["slos"][number]): Case {
  const sign = isLowerLimit(metric) ? ">=" : "<=";
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
  const { record, run_id: runId } = report;
  const numbers = {
    qps: record.qps,
    total_operations: record.total_operations,
    failed_operations: record.failed_operations,
    unserved: record.unserved,
    resent_requests: record.resent_requests,
    generator_frozen_ms: record.generator_frozen_ms,
    skipped_arrivals: record.skipped_arrivals,
    error_rate_pct: record.error_rate_pct,
    availability_pct: record.availability_pct,
    longest_silence_ms: record.longest_silence_ms,
    ...latenciesOf(record),
  };
  const shown = Object.entries(numbers).map(
    ([name, value]) => [name, value === null ? "" : String(Number(value.toPrecision(6)))] as const,
  );
  return [
    ["run_id", runId],
    ["verdict", record.verdict ?? ""],
    ["percentiles_valid", String(record.percentiles_valid)],
    ["at_least", record.at_least.join(" ")],
    ["generator_bound", String(record.generator_bound)],
    ...shown,
    ...[...record.allowances, ...record.warnings].map((text) => ["note", text] as const),
  ];
}

/** Removes characters that XML cannot contain. */
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
