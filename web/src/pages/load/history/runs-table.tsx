/** One row for each run. Narrow windows show fewer columns; a run's own page has everything. */
import { Checkbox } from "@mantine/core";
import { Link } from "react-router";
import type { TestResult } from "../../../api/gen/types.ts";
import { isUnderWay } from "../../../api/load.ts";
import { type Column, DataTable, type More } from "../../../components/data-table.tsx";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatLatency,
  formatMoment,
  formatRate,
  formatShare,
  unknown,
} from "../../../format.ts";
import { runHref } from "../links.ts";
import { ObjectivesSign, RunStatusSign } from "../run/run-sign.tsx";
import { comparedMax, isComparable, modeNames } from "./history-view.ts";

interface RunsTableProps {
  readonly runs: readonly TestResult[];
  readonly nowMs: number;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (runId: string, chosen: boolean) => void;
  readonly more: More | false;
}

export function RunsTable({ runs, nowMs, chosen, onChoose, more }: RunsTableProps) {
  const columns: readonly Column<TestResult>[] = [
    {
      title: "Compare",
      isTitleHidden: true,
      className: "row-actions",
      cell: (run) => (
        <Checkbox
          size="xs"
          aria-label={`Compare ${run.test_name}, ${run.test_id}`}
          checked={chosen.has(run.test_id)}
          disabled={!isComparable(run) || (chosen.size >= comparedMax && !chosen.has(run.test_id))}
          onChange={(event) => onChoose(run.test_id, event.currentTarget.checked)}
        />
      ),
    },
    {
      title: "Run",
      className: "row-name",
      cell: (run) => (
        <>
          <Link to={runHref(run.test_id)} className="row-link">
            {run.test_name}
          </Link>
          <div className="dim row-small">{whatOf(run)}</div>
        </>
      ),
    },
    { title: "State", cell: (run) => <State run={run} /> },
    { title: "Objectives", className: "from-sm", cell: (run) => <ObjectivesSign run={run} /> },
    {
      title: "Ops/s",
      hint: "Operations per second",
      className: "num",
      cell: (run) => (run.total_operations > 0 ? formatRate(run.qps) : unknown),
    },
    { title: "p50", className: "num from-md", cell: (run) => formatLatency(run.p50_latency_ms) },
    { title: "p95", className: "num", cell: (run) => formatLatency(run.p95_latency_ms) },
    { title: "p99", className: "num from-md", cell: (run) => formatLatency(run.p99_latency_ms) },
    {
      title: "Errors",
      className: "num from-sm",
      cell: (run) => (run.total_operations > 0 ? <Errors run={run} /> : unknown),
    },
    {
      title: "Started",
      className: "num from-sm",
      cell: ({ start_time_ms: startMs }) =>
        startMs === null ? (
          unknown
        ) : (
          <span title={formatMoment(startMs)}>{formatAge(nowMs - startMs)}</span>
        ),
    },
    {
      title: "Duration",
      className: "num from-lg",
      cell: ({ duration_seconds: seconds }) =>
        formatDuration(seconds === null ? null : seconds * 1_000),
    },
  ];
  return (
    <DataTable
      label="Runs"
      columns={columns}
      rows={runs}
      rowKey={({ test_id: id }) => id}
      rowProps={({ test_id: id, status }) => ({
        "data-run": id,
        "data-status": status,
        "data-tone": status === "FAILED" ? "bad" : undefined,
      })}
      more={more}
    />
  );
}

function State({ run }: { readonly run: TestResult }) {
  const { status, cancellation_reason: reason } = run;
  return (
    <>
      <RunStatusSign status={status} />
      {isUnderWay(status) && <div className="row-small tone-accent">Watch it live</div>}
      {status === "FAILED" && reason !== null && (
        <div className="dim row-note" title={reason}>
          {reason}
        </div>
      )}
    </>
  );
}

function Errors({ run }: { readonly run: TestResult }) {
  const { failed_operations: failed, total_operations: total } = run;
  if (failed === 0) return <span className="dim">0</span>;
  return (
    <span className="tone-bad" title={`${formatCount(failed)} of ${formatCount(total)}`}>
      {formatShare((failed / total) * 100)}
    </span>
  );
}

function whatOf(run: TestResult): string {
  const name = run.template_name === run.test_name ? [] : [run.template_name];
  const load =
    run.load_mode === "CONCURRENCY"
      ? `${formatCount(run.concurrent_connections)} connections`
      : modeNames[run.load_mode].toLowerCase();
  return [...name, run.target_kind, load].join(" · ");
}
