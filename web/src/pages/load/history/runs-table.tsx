/** One line a run. Narrow windows show fewer columns; a run's own page has everything. */
import { Checkbox, VisuallyHidden } from "@mantine/core";
import { Link } from "react-router";
import type { TestResult } from "../../../api/gen/types.ts";
import { isUnderWay } from "../../../api/load.ts";
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
}

export function RunsTable({ runs, nowMs, chosen, onChoose }: RunsTableProps) {
  return (
    <div className="table-scroll">
      <table className="table runs" aria-label="Runs">
        <thead>
          <tr>
            <th>
              <VisuallyHidden>Compare</VisuallyHidden>
            </th>
            <th>Run</th>
            <th>State</th>
            <th className="from-sm">Objectives</th>
            <th className="num" title="Operations a second">
              Ops/s
            </th>
            <th className="num from-md">p50</th>
            <th className="num">p95</th>
            <th className="num from-md">p99</th>
            <th className="num from-sm">Errors</th>
            <th className="num from-sm">Started</th>
            <th className="num from-lg">Took</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Line
              key={run.test_id}
              run={run}
              nowMs={nowMs}
              isChosen={chosen.has(run.test_id)}
              isFull={chosen.size >= comparedMax}
              onChoose={onChoose}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface LineProps extends Pick<RunsTableProps, "nowMs" | "onChoose"> {
  readonly run: TestResult;
  readonly isChosen: boolean;
  readonly isFull: boolean;
}

function Line({ run, nowMs, isChosen, isFull, onChoose }: LineProps) {
  const { test_id: id, status, start_time_ms: startMs } = run;
  const hasFigures = run.total_operations > 0;
  return (
    <tr className="run-line" data-run={id} data-status={status}>
      <td className="run-choice">
        <Checkbox
          size="xs"
          aria-label={`Compare ${run.test_name}, ${id}`}
          checked={isChosen}
          disabled={!isComparable(run) || (isFull && !isChosen)}
          onChange={(event) => onChoose(id, event.currentTarget.checked)}
        />
      </td>
      <td className="run-name-cell">
        <Link to={runHref(id)} className="run-name">
          {run.test_name}
        </Link>
        <div className="dim run-what">{whatOf(run)}</div>
      </td>
      <td>
        <RunStatusSign status={status} />
        {isUnderWay(status) && <div className="run-live">Watch it live</div>}
        {status === "FAILED" && run.cancellation_reason !== null && (
          <div className="dim run-reason" title={run.cancellation_reason}>
            {run.cancellation_reason}
          </div>
        )}
      </td>
      <td className="from-sm">
        <ObjectivesSign run={run} />
      </td>
      <td className="num">{hasFigures ? formatRate(run.qps) : unknown}</td>
      <td className="num from-md">{formatLatency(run.p50_latency_ms)}</td>
      <td className="num">{formatLatency(run.p95_latency_ms)}</td>
      <td className="num from-md">{formatLatency(run.p99_latency_ms)}</td>
      <td className="num from-sm">{hasFigures ? <Errors run={run} /> : unknown}</td>
      <td className="num from-sm" title={startMs === null ? "" : formatMoment(startMs)}>
        {startMs === null ? unknown : formatAge(nowMs - startMs)}
      </td>
      <td className="num from-lg">
        {formatDuration(run.duration_seconds === null ? null : run.duration_seconds * 1_000)}
      </td>
    </tr>
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
