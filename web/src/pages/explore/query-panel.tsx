/** One query: its editor, and its result in the page's current view. */
import { ActionIcon, Button, Loader, Tooltip } from "@mantine/core";
import { IconChartLine, IconPlayerPlay, IconPlayerStop, IconX } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { isHeldBack, release } from "../../arrival.ts";
import { Empty } from "../../components/empty.tsx";
import { formatDuration, plural } from "../../format.ts";
import { Chart } from "./chart.tsx";
import { ExplainView } from "./explain-view.tsx";
import { chooseStepMs, type ExploreState } from "./explore-state.ts";
import { PromqlEditor } from "./promql-editor.tsx";
import { ResultTable } from "./result-table.tsx";
import { type Run, type RunRequest, usePromqlRun } from "./use-promql-run.ts";

interface QueryPanelProps {
  readonly query: string;
  readonly index: number;
  readonly state: ExploreState;
  readonly nowMs: () => number;
  /** Increases when every panel has to run again. */
  readonly turn: number;
  /**
   * Increases when every idle panel has to run again. Panels that still run are left alone: a query
   * that takes longer than the interval would never end.
   */
  readonly refresh: number;
  readonly onQuery: (query: string) => void;
  /** Undefined when it is the only panel. */
  readonly onRemove: (() => void) | undefined;
  readonly onZoom: (startMs: number, endMs: number) => void;
}

export function QueryPanel(props: QueryPanelProps) {
  const { query, index, state, nowMs, turn, refresh, onQuery, onRemove, onZoom } = props;
  const { run, start, cancel, clear } = usePromqlRun();
  const [draft, setDraft] = useState(query);
  const body = useRef<HTMLDivElement>(null);
  const [isHeld, setHeld] = useState(isHeldBack);
  const [known, setKnown] = useState(query);
  if (query !== known) {
    // The address changed: the back button, or a link.
    setKnown(query);
    setDraft(query);
  }

  const running = run.status === "running";
  const ask = (): void =>
    start(requestOf(query, state, nowMs(), body.current?.clientWidth ?? 1_000));

  // biome-ignore lint/correctness/useExhaustiveDependencies: it asks when what is asked changes, and when told to.
  useEffect(() => {
    if (turn > 0) setHeld(false); // Somebody pressed Run all.
    if (query.trim() === "") clear();
    else if (!isHeld || turn > 0) ask();
  }, [query, state.rangeMs, state.endMs, state.stepMs, state.view === "table", turn]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it asks when told to.
  useEffect(() => {
    if (!isHeld && refresh > 0 && query.trim() !== "" && !running) ask();
  }, [refresh]);

  const submit = (text: string): void => {
    if (text.trim() === "") return;
    release();
    setHeld(false);
    if (text === query) ask();
    else onQuery(text);
  };
  return (
    <section className="card ql-panel" aria-label={`Query ${index + 1}`}>
      <div className="ql-bar">
        <PromqlEditor
          value={draft}
          label={`PromQL expression ${index + 1}`}
          onChange={setDraft}
          onRun={submit}
          error={draft === run.request?.query ? run.error : undefined}
        />
        {running ? (
          <Button variant="default" leftSection={<IconPlayerStop size={14} />} onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button
            leftSection={<IconPlayerPlay size={14} />}
            disabled={draft.trim() === ""}
            onClick={() => submit(draft)}
          >
            Run
          </Button>
        )}
        {onRemove !== undefined && (
          <Tooltip label="Remove this query">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label="Remove this query"
              onClick={onRemove}
            >
              <IconX size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </div>
      <div className="ql-outcome dim" role="status" aria-label="Outcome">
        {running && <Loader size={12} />}
        {outcomeText(run)}
      </div>
      {run.error !== undefined && (
        <div className="failure" role="alert">
          <div className="failure-message mono">{run.error}</div>
        </div>
      )}
      <Notes run={run} />
      <div className="ql-body" ref={body}>
        {isHeld && query.trim() !== "" ? (
          <Empty icon={IconChartLine} title="Not run yet">
            <span className="dim">
              A link of another site wrote this query. Read it, then press Run.
            </span>
          </Empty>
        ) : (
          <Result run={run} state={state} onZoom={onZoom} />
        )}
      </div>
    </section>
  );
}

function requestOf(query: string, state: ExploreState, nowMs: number, width: number): RunRequest {
  const { rangeMs, view } = state;
  const stepMs = state.stepMs ?? chooseStepMs(rangeMs, width);
  if (view === "table") return { query, at: { kind: "instant", timeMs: state.endMs ?? nowMs } };
  const endMs = state.endMs ?? nowMs;
  return { query, at: { kind: "range", startMs: endMs - rangeMs, endMs, stepMs } };
}

function Result({
  run,
  state,
  onZoom,
}: {
  readonly run: Run;
  readonly state: ExploreState;
  readonly onZoom: QueryPanelProps["onZoom"];
}) {
  const { result, summary } = run;
  if (result === undefined) {
    if (run.status !== "idle") return null;
    return (
      <Empty icon={IconChartLine} title="Enter a query">
        <span className="dim">Write an expression and press Enter. Ctrl Space completes.</span>
      </Empty>
    );
  }
  const fits = (result.at.kind === "instant") === (state.view === "table");
  // The view changed, and its result is loading.
  if (!fits && run.status === "running") return null;
  if (state.view === "explain") {
    return summary === undefined ? null : <ExplainView summary={summary} />;
  }
  if (result.series.length === 0) {
    if (run.status === "running") return null;
    return (
      <Empty icon={IconChartLine} title="No series">
        <span className="dim">No series in this time range. Try a longer one.</span>
      </Empty>
    );
  }
  const floats = result.series.some(({ values }) => values.length > 0);
  if (result.at.kind === "range" && state.view === "chart" && floats) {
    return (
      <Chart
        query={run.request?.query ?? ""}
        series={result.series}
        {...result.at}
        onZoom={onZoom}
      />
    );
  }
  return <ResultTable result={result} />;
}

function Notes({ run }: { readonly run: Run }) {
  const notes = [...(run.summary?.warnings ?? []), ...(run.summary?.infos ?? [])];
  if (notes.length === 0) return null;
  return (
    <ul className="ql-notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function outcomeText({ status, result, summary, durationMs }: Run): string {
  switch (status) {
    case "idle":
      return "";
    case "running":
      return "running…";
    case "failed":
      return `failed after ${formatDuration(durationMs)}`;
    case "cancelled":
      return `cancelled after ${formatDuration(durationMs)}`;
    case "done": {
      const series = result?.series.length ?? 0;
      const points = summary?.pointCount ?? 0;
      const count = `${series} series, ${plural(points, "point")}`;
      return `${count} in ${formatDuration(durationMs)}`;
    }
  }
}
