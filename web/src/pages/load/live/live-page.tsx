/** A run that is running, or waits for its start. */
import { Anchor, Button, Title } from "@mantine/core";
import { IconArrowLeft, IconLoader2 } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import { Link } from "react-router";
import type { RunUpdate, TestDetail } from "../../../api/gen/types.ts";
import { toastFailed } from "../../../components/toasts.tsx";
import { formatAgo } from "../../../format.ts";
import { templateHref } from "../links.ts";
import { cancellationToast } from "./cancellation.ts";
import { FindMaxPanel } from "./find-max-panel.tsx";
import { generatorWarnings } from "./generator-warning.ts";
import { GuardrailsCard } from "./guardrails-card.tsx";
import "./live.css";
import { LiveCharts } from "./live-charts.tsx";
import { LiveFigures } from "./live-figures.tsx";
import type { LiveRun } from "./live-run.ts";
import { LogCard } from "./log-card.tsx";
import { OperationsCard } from "./operations-card.tsx";
import { PhaseCard } from "./phase-card.tsx";
import { RunControls } from "./run-controls.tsx";
import { stageOf } from "./run-stage.ts";
import { ServerPanel } from "./server-panel.tsx";
import { StageSign } from "./stage-sign.tsx";
import { useClock } from "./use-clock.ts";
import { type LiveRunFeed, useLiveRun } from "./use-live-run.ts";
import { WorkersGrid } from "./workers-grid.tsx";

interface LivePageProps {
  readonly test: TestDetail;
  /** Called when the run has ended. */
  readonly onEnded: () => void;
}

export function LivePage({ test, onEnded }: LivePageProps) {
  const { test_id: runId, scenario_config: scenario } = test;
  const isSearch = scenario.workload.load_mode === "FIND_MAX_CONCURRENCY";
  const feed = useLiveRun(runId, isSearch);
  const { run } = feed;
  const update = run.update ?? { ...test.live, logs: [] };
  const stage = stageOf(update);
  useEffect(() => {
    if (stage === "ended") onEnded();
  }, [stage, onEnded]);
  useCancellationToast(run.update);
  const isLost = run.link.kind !== "open" && stage !== "ended";
  const hasFigures = stage !== "prepared";
  return (
    <>
      <Anchor component={Link} to="/load" size="sm" className="load-back">
        <IconArrowLeft size={14} /> Runs
      </Anchor>
      <div className="page-head load-subhead">
        <Title order={2} className="load-title">
          {test.test_name}
        </Title>
        <span role="status" aria-label="State" data-phase={update.phase}>
          <StageSign stage={stage} />
        </span>
        <RunControls runId={runId} stage={stage} />
      </div>
      <p className="dim live-what">{describe(test)}</p>
      <LinkNote feed={feed} />
      <StageNote update={update} onEnded={onEnded} />
      <Warnings update={update} run={run} />
      <div className={isLost && run.update !== undefined ? "load-stack stale" : "load-stack"}>
        <PhaseCard stage={stage} timers={run.timers} isSearch={isSearch} />
        {hasFigures && <LiveFigures update={update} />}
        {hasFigures && (
          <LiveCharts update={update} seconds={run.seconds} mode={scenario.workload.load_mode} />
        )}
        {isSearch && hasFigures && <FindMaxPanel runId={runId} update={update} />}
        <div className="live-columns">
          <div className="load-stack">
            <OperationsCard update={update} scenario={scenario} />
            {hasFigures && <WorkersGrid runId={runId} update={update} />}
            <LogCard lines={run.logs} />
          </div>
          <div className="load-stack">
            <ServerPanel update={update} kind={scenario.target.kind} />
            <GuardrailsCard update={update} scenario={scenario} />
          </div>
        </div>
      </div>
    </>
  );
}

function useCancellationToast(update: RunUpdate | undefined): void {
  const before = useRef<RunUpdate | undefined>(undefined);
  useEffect(() => {
    if (update === undefined) return;
    const toast = cancellationToast(before.current, update);
    before.current = update;
    if (toast !== undefined) toastFailed(toast.title, toast.message);
  }, [update]);
}

function describe({
  scenario_config: { target, workload, template_name, template_id },
}: TestDetail) {
  return (
    <>
      {template_id === null ? (
        template_name
      ) : (
        <Anchor component={Link} to={templateHref(template_id)} size="sm">
          {template_name}
        </Anchor>
      )}
      {" on "}
      <span className="mono">{target.url}</span>
      {workload.load_mode === "QPS" &&
        `, ${workload.target_qps ?? "staged"} operations/s, for ${workload.duration_seconds} s`}
      {workload.load_mode === "CONCURRENCY" &&
        `, ${workload.concurrent_connections} connections, for ${workload.duration_seconds} s`}
      {workload.load_mode === "FIND_MAX_CONCURRENCY" && ", searching for the most connections"}
    </>
  );
}

/** Reports a lost connection, and the age of the shown data. */
function LinkNote({ feed: { run, reconnect } }: { readonly feed: LiveRunFeed }) {
  const nowMs = useClock(1_000);
  const { link, update, receivedAtMs } = run;
  if (link.kind === "open" || (link.kind === "connecting" && update === undefined)) return null;
  const message = link.kind === "lost" ? link.message : "Connecting…";
  return (
    <div className="note live-lost" data-tone="warn" role="alert">
      <span className="state">
        <IconLoader2 size={15} className="tone-warn spin" /> Not connected
      </span>
      <span>
        {message} {update === undefined ? "No data yet." : ageOf(run, nowMs - receivedAtMs)}
      </span>
      <Button variant="default" size="compact-xs" onClick={reconnect}>
        Try now
      </Button>
    </div>
  );
}

function ageOf({ update }: LiveRun, ageMs: number): string {
  const goesOn = update?.status === "RUNNING" ? " The run goes on without this page." : "";
  return `The figures are from ${formatAgo(ageMs)}.${goesOn}`;
}

interface StageNoteProps {
  readonly update: RunUpdate;
  readonly onEnded: () => void;
}

/** Explains the current stage where the figures do not. */
function StageNote({ update, onEnded }: StageNoteProps) {
  const stage = stageOf(update);
  switch (stage) {
    case "prepared":
      return (
        <p className="note">
          Everything was checked: the target answers and takes each statement. Nothing is sent
          before you press Start.
        </p>
      );
    case "starting": {
      const ready = update.workers.filter(({ status }) => status !== "STARTING").length;
      return (
        <p className="note">
          Workers start, connect and prepare their statements: {ready} of {update.workers.length}{" "}
          ready. The warm-up begins when all are.
        </p>
      );
    }
    case "stopping":
    case "cancelling":
      return (
        <p className="note">
          Nothing new is sent. Workers finish what is under way, which may take two minutes at most.
          {update.cancellation_reason !== null && ` Reason: ${update.cancellation_reason}.`}
        </p>
      );
    case "processing":
      return (
        <p className="note">
          The run has ended. Its records are gathered, and the target is asked what it knows of the
          queries.{" "}
          <Anchor component="button" type="button" size="sm" onClick={onEnded}>
            Show the result now
          </Anchor>
        </p>
      );
    default:
      return null;
  }
}

interface WarningsProps {
  readonly update: RunUpdate;
  readonly run: LiveRun;
}

function Warnings({ update, run }: WarningsProps) {
  const warnings = [...update.warnings, ...generatorWarnings(run.generator)];
  if (warnings.length === 0) return null;
  return (
    <ul className="note live-warnings" data-tone="warn" aria-label="Warnings">
      {warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
  );
}
