/** PromQL expressions, with their results as charts, tables, or an explanation. */
import { Button, SegmentedControl, Title } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useCallback, useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import "./explore.css";
import { type ExploreState, formatState, parseState, type View } from "./explore-state.ts";
import { QueryPanel } from "./query-panel.tsx";
import { Suggestions } from "./suggestions.tsx";
import { TimeControls } from "./time-controls.tsx";

const views: readonly { readonly value: View; readonly label: string }[] = [
  { value: "chart", label: "Chart" },
  { value: "table", label: "Table" },
  { value: "explain", label: "Explain" },
];
const nowMs = (): number => Date.now();

export function Component() {
  const [params, setParams] = useSearchParams();
  const state = parseState(params);
  const [turn, setTurn] = useState(0);
  const [refresh, setRefresh] = useState(0);
  const [refreshMs, setRefreshMs] = useState(0);
  const change = useCallback(
    (changed: Partial<ExploreState>) => {
      setParams((before) => formatState({ ...parseState(before), ...changed }));
    },
    [setParams],
  );
  useEffect(() => {
    if (refreshMs === 0) return undefined;
    const timer = setInterval(() => setRefresh((before) => before + 1), refreshMs);
    return () => clearInterval(timer);
  }, [refreshMs]);
  const setQuery = (index: number, query: string): void =>
    change({ queries: state.queries.with(index, query) });
  const nothingAsked = state.queries.every((query) => query.trim() === "");
  return (
    <div className="page explore">
      <div className="page-head">
        <Title order={1}>Explore</Title>
        <SegmentedControl
          size="xs"
          aria-label="View"
          data={[...views]}
          value={state.view}
          onChange={(view) => change({ view: view as View })}
        />
        <TimeControls
          state={state}
          nowMs={nowMs}
          onChange={change}
          refreshMs={refreshMs}
          onRefreshMs={setRefreshMs}
          onRun={() => setTurn((before) => before + 1)}
        />
      </div>
      {state.queries.map((query, index) => (
        <QueryPanel
          // biome-ignore lint/suspicious/noArrayIndexKey: a panel is its place in the list.
          key={index}
          query={query}
          index={index}
          state={state}
          nowMs={nowMs}
          turn={turn}
          refresh={refresh}
          onQuery={(text) => setQuery(index, text)}
          onRemove={
            state.queries.length === 1
              ? undefined
              : () => change({ queries: state.queries.toSpliced(index, 1) })
          }
          onZoom={(startMs, endMs) =>
            change({
              rangeMs: Math.max(1_000, Math.round(endMs - startMs)),
              endMs: Math.round(endMs),
            })
          }
        />
      ))}
      {nothingAsked ? (
        <Suggestions onChoose={(query) => setQuery(0, query)} />
      ) : (
        <Button
          variant="default"
          leftSection={<IconPlus size={14} />}
          disabled={state.queries.length >= 10}
          onClick={() => change({ queries: [...state.queries, ""] })}
        >
          Add a query
        </Button>
      )}
    </div>
  );
}
