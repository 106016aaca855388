/** The list of runs, newest first: find, watch or compare them. */
import { Button, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconScale } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import type { TestResult } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { isUnderWay, listTemplates, type TestPage } from "../../../api/load.ts";
import { Waiting } from "../../../components/data-table.tsx";
import { NoMatch } from "../../../components/empty.tsx";
import { SearchField } from "../../../components/search-field.tsx";
import { useAddressView } from "../../../components/use-address-view.ts";
import { useRefusedToken } from "../../../components/use-refused-token.ts";
import { plural } from "../../../format.ts";
import { FirstRun } from "./first-run.tsx";
import "./history.css";
import {
  comparePath,
  everything,
  type HistoryView,
  isFiltered,
  modeNames,
  requestOf,
  searchOf,
  targetKinds,
  viewOf,
} from "./history-view.ts";
import { RunsTable } from "./runs-table.tsx";

const pageSize = 25;
const busyMs = 2_000;
const quietMs = 15_000;
const typingMs = 250;

export function HistoryPage() {
  const [view, setView] = useAddressView(viewOf, searchOf);
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useRuns(view);
  const [chosen, setChosen] = useState<ReadonlyMap<string, TestResult>>(new Map());
  const nowMs = useNow();
  useRefusedToken(error);
  const runs = data?.pages.flatMap(({ items }) => items);
  const choose = (runId: string, isChosen: boolean): void => {
    const run = runs?.find(({ test_id: id }) => id === runId);
    if (run === undefined) return;
    const others = [...chosen].filter(([id]) => id !== runId);
    setChosen(new Map(isChosen ? [...others, [runId, run]] : others));
  };
  if (runs === undefined) return <Waiting label="Runs" error={error} />;
  if (runs.length === 0 && !isFiltered(view)) return <FirstRun />;
  return (
    <>
      <Filters view={view} onView={setView} />
      {chosen.size > 0 && (
        <Chosen runs={[...chosen.values()]} onNone={() => setChosen(new Map())} />
      )}
      <div className="card">
        {runs.length === 0 ? (
          <NoMatch what="run" onAll={() => setView(everything)} />
        ) : (
          <RunsTable
            runs={runs}
            nowMs={nowMs}
            chosen={new Set(chosen.keys())}
            onChoose={choose}
            more={
              hasNextPage && { isLoading: isFetchingNextPage, onMore: () => void fetchNextPage() }
            }
          />
        )}
      </div>
    </>
  );
}

function useRuns(view: HistoryView) {
  const [text] = useDebouncedValue(view.text, typingMs);
  const asked = { ...view, text };
  return useInfiniteQuery({
    queryKey: ["load-runs", asked],
    queryFn: ({ pageParam, signal }) =>
      readJson<TestPage>(requestOf(asked, { limit: pageSize, after: pageParam }, Date.now()), {
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: ({ next_page_token: next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(({ status }) => isUnderWay(status)))
        ? busyMs
        : quietMs,
    retry: false,
  });
}

interface ChosenProps {
  readonly runs: readonly TestResult[];
  readonly onNone: () => void;
}

function Chosen({ runs, onNone }: ChosenProps) {
  return (
    <div className="card runs-chosen" role="status">
      <span>
        {runs.length === 1
          ? "1 run is selected. Select another run to compare it with."
          : `${plural(runs.length, "run")} are selected. The others are compared with the oldest.`}
      </span>
      <Button variant="subtle" color="gray" onClick={onNone}>
        Clear selection
      </Button>
      {runs.length > 1 && (
        <Button component={Link} to={comparePath(runs)} leftSection={<IconScale size={14} />}>
          Compare {runs.length} runs
        </Button>
      )}
    </div>
  );
}

interface FiltersProps {
  readonly view: HistoryView;
  readonly onView: (change: Partial<HistoryView>) => void;
}

const statusChoices = [
  { value: "all", label: "Any state" },
  { value: "running", label: "Running" },
  { value: "completed", label: "Completed" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Cancelled" },
  { value: "prepared", label: "Not started" },
];
const sinceChoices = [
  { value: "all", label: "Any time" },
  { value: "hour", label: "Last hour" },
  { value: "day", label: "Last day" },
  { value: "week", label: "Last week" },
  { value: "month", label: "Last 30 days" },
];
const modeChoices = [
  { value: "", label: "Any load" },
  ...Object.entries(modeNames).map(([value, label]) => ({ value, label })),
];
const kindChoices = [
  { value: "", label: "Any target" },
  ...targetKinds.map((kind) => ({ value: kind, label: kind })),
];

function Filters({ view, onView }: FiltersProps) {
  const { data: templates = [] } = useQuery({
    queryKey: ["load-templates"],
    queryFn: ({ signal }) => listTemplates(signal),
    retry: false,
  });
  const templateChoices = [
    { value: "", label: "Any template" },
    ...templates.map(({ template_id: value, template_name: label }) => ({
      value,
      label,
    })),
  ];
  const choice = (
    name: string,
    field: "status" | "template" | "mode" | "kind" | "since",
    data: { value: string; label: string }[],
  ) => (
    <Select
      size="xs"
      aria-label={name}
      data={data}
      value={view[field]}
      allowDeselect={false}
      onChange={(value) => onView({ [field]: value ?? "" })}
    />
  );
  return (
    <search className="runs-filters">
      <SearchField
        label="Search runs"
        placeholder="Search by name, template, table, id…"
        value={view.text}
        onText={(text) => onView({ text })}
      />
      {choice("State", "status", statusChoices)}
      {choice("Template", "template", templateChoices)}
      {choice("Load", "mode", modeChoices)}
      {choice("Target", "kind", kindChoices)}
      {choice("Time", "since", sinceChoices)}
    </search>
  );
}

function useNow(): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
