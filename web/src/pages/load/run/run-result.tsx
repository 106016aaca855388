/** A run that has ended: the verdict, then the figures, then the details. */
import { Anchor, Skeleton, Title } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { FinalFigures, RunSummary, TestDetail } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { isUnderWay, readMetrics, testPath } from "../../../api/load.ts";
import { useRefusedToken } from "../../../components/use-refused-token.ts";
import { formatCount, formatDuration, formatMoment, plural } from "../../../format.ts";
import { UnreadableRun } from "../unreadable-run.tsx";
import { ConfigurationCard } from "./configuration-card.tsx";
import { ErrorsCard } from "./errors-card.tsx";
import { ExecutionsCard } from "./executions-card.tsx";
import { FindMaxCard } from "./find-max-card.tsx";
import { LatencyCharts } from "./latency-charts.tsx";
import { OperationsTable } from "./operations-table.tsx";
import "./run.css";
import { RunActions } from "./run-actions.tsx";
import { RunCharts } from "./run-charts.tsx";
import { RunFigures } from "./run-figures.tsx";
import { RunLog } from "./run-log.tsx";
import { loadStartMs } from "./run-series.ts";
import { RunStatusSign } from "./run-sign.tsx";
import { RunWorkers } from "./run-workers.tsx";
import { ServerCard } from "./server-card.tsx";
import { VerdictCard } from "./verdict-card.tsx";

const settlingMs = 2_000;

export function RunResult({ runId }: { readonly runId: string }) {
  const test = useQuery({
    queryKey: ["load-test", runId],
    queryFn: ({ signal }) => readJson<TestDetail>(testPath(runId), { signal }),
    // Exact percentiles arrive a moment after the end.
    refetchInterval: ({ state }) => (isSettling(state.data) ? settlingMs : false),
    retry: false,
  });
  const version = [test.data?.status, test.data?.enrichment_status].join();
  const summary = useQuery({
    queryKey: ["load-summary", runId, version],
    queryFn: ({ signal }) => readJson<RunSummary>(testPath(runId, "/report.json"), { signal }),
    enabled: test.data !== undefined,
    placeholderData: (before) => before,
    retry: false,
  });
  const error = test.error ?? summary.error;
  useRefusedToken(error);
  if (test.data === undefined || summary.data === undefined) {
    return error === null ? (
      <Loading />
    ) : (
      <div className="card">
        <UnreadableRun error={error} />
      </div>
    );
  }
  return (
    <div className="run">
      <Head run={test.data} summary={summary.data} />
      <VerdictCard run={test.data} summary={summary.data} />
      <Parts run={test.data} summary={summary.data} version={version} />
    </div>
  );
}

function isSettling(run: TestDetail | undefined): boolean {
  if (run === undefined) return false;
  const { enrichment_status: status } = run;
  return isUnderWay(run.status) || status === "PENDING" || status === "RUNNING";
}

interface HeadProps {
  readonly run: TestDetail;
  readonly summary: RunSummary;
}

function Head({ run, summary }: HeadProps) {
  const took = run.duration_seconds === null ? null : run.duration_seconds * 1_000;
  return (
    <>
      <Anchor component={Link} to="/load" size="sm" className="run-back">
        <IconArrowLeft size={14} /> Runs
      </Anchor>
      <div className="run-head">
        <Title order={2} className="run-title">
          {run.test_name}
        </Title>
        <span role="status" aria-label="State">
          <RunStatusSign status={run.status} />
        </span>
        <RunActions run={run} />
      </div>
      <p className="dim run-meta">
        {[
          run.template_name,
          loadText(run),
          `${run.target_kind}, ${run.table_name}`,
          run.start_time_ms === null ? "never started" : formatMoment(run.start_time_ms),
          ...(took === null ? [] : [`took ${formatDuration(took)}`]),
          plural(summary.worker_count, "worker"),
        ].join(" · ")}{" "}
        · <span className="mono">{run.test_id}</span>
      </p>
    </>
  );
}

function loadText({ load_mode: mode, scenario_config: { workload } }: TestDetail): string {
  if (mode === "QPS") return `${formatCount(workload.target_qps)} ops/s`;
  if (mode === "CONCURRENCY") return plural(workload.concurrent_connections, "connection");
  return "search for the most connections";
}

interface PartsProps extends HeadProps {
  readonly version: string;
}

function Parts({ run, summary, version }: PartsProps) {
  const { test_id: runId, scenario_config: scenario } = run;
  const metrics = useQuery({
    queryKey: ["load-metrics", runId, run.status],
    queryFn: ({ signal }) => readMetrics(runId, signal),
    placeholderData: (before) => before,
    retry: false,
  });
  const final = useQuery({
    queryKey: ["load-final", runId, version],
    queryFn: ({ signal }) => readJson<FinalFigures>(testPath(runId, "/final-figures"), { signal }),
    placeholderData: (before) => before,
    retry: false,
  });
  const hasMeasured = summary.total_operations + (summary.unserved ?? 0) > 0;
  return (
    <>
      {hasMeasured && <RunFigures summary={summary} />}
      {summary.find_max_steps.length > 0 && <FindMaxCard summary={summary} />}
      {metrics.data === undefined ? (
        <Waiting error={metrics.error} what="What was measured by the second" />
      ) : (
        <RunCharts metrics={metrics.data} targetQps={scenario.workload.target_qps} />
      )}
      {hasMeasured &&
        (final.data === undefined ? (
          <Waiting error={final.error} what="Records of operations" />
        ) : (
          <LatencyCharts
            final={final.data}
            loadStartMs={metrics.data && loadStartMs(metrics.data.items)}
          />
        ))}
      <OperationsTable summary={summary} />
      {summary.failed_operations > 0 && <ErrorsCard runId={runId} summary={summary} />}
      <RunWorkers run={run} />
      <ServerCard runId={runId} kind={run.target_kind} metrics={metrics.data} />
      {hasMeasured && (
        <ExecutionsCard
          runId={runId}
          operations={summary.operations.map(({ operation }) => operation)}
          recordOneIn={scenario.workload.record_one_in}
        />
      )}
      <RunLog runId={runId} status={run.status} />
      <ConfigurationCard scenario={scenario} />
    </>
  );
}

interface WaitingProps {
  readonly error: Error | null;
  readonly what: string;
}

function Waiting({ error, what }: WaitingProps) {
  return (
    <div className="card run-waiting">
      {error === null ? (
        <Skeleton height={180} />
      ) : (
        <p className="dim" role="alert">
          {what} cannot be read: {error.message}
        </p>
      )}
    </div>
  );
}

function Loading() {
  return (
    <div className="run" role="status" aria-label="Loading the run">
      <Skeleton height={34} width={260} />
      <Skeleton height={90} />
      <Skeleton height={220} />
    </div>
  );
}
