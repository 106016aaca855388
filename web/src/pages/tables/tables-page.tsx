import { SegmentedControl, Skeleton, TextInput, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconDatabaseOff, IconSearch, IconSearchOff } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { ApiError } from "../../api/http.ts";
import { useStaleClass } from "../../components/connection.tsx";
import { Empty } from "../../components/empty.tsx";
import "./tables.css";
import { FirstTable } from "./first-table.tsx";
import { conditionOf, conditions, type TableCondition } from "./table-condition.ts";
import { TableDetail } from "./table-detail.tsx";
import {
  graphTables,
  joinTables,
  type ListedTable,
  listTables,
  matches,
  parseSortKey,
  type TablesView,
} from "./table-list.ts";
import { conditionWord } from "./table-sign.tsx";
import { TablesGraph } from "./tables-graph.tsx";
import { TablesList } from "./tables-list.tsx";
import { useDatabaseNow, useTables } from "./use-tables.ts";

export function Component() {
  const { tableName } = useParams();
  const { data, error } = useTables();
  const nowMs = useDatabaseNow(data?.clockOffsetMs ?? 0);
  const listed = useMemo(() => data && joinTables(data.tables, data.dynamicTables), [data]);
  const stale = useStaleClass();
  if (listed === undefined) {
    return (
      <div className="page">{error === null ? <Loading /> : <Unreadable error={error} />}</div>
    );
  }
  return (
    <div className={`page ${stale}`}>
      {tableName === undefined ? (
        <Overview listed={listed} nowMs={nowMs} />
      ) : (
        <TableDetail key={tableName} name={tableName} listed={listed} nowMs={nowMs} />
      )}
    </div>
  );
}

interface OverviewProps {
  readonly listed: readonly ListedTable[];
  readonly nowMs: number;
}

function Overview({ listed, nowMs }: OverviewProps) {
  const [view, setView] = useTablesView();
  const hasDynamic = listed.some(({ dynamic }) => dynamic !== undefined);
  return (
    <>
      <div className="page-head">
        <Title order={1}>Tables</Title>
        {listed.length > 0 && (
          <Filters listed={listed} hasGraph={hasDynamic} view={view} onView={setView} />
        )}
      </div>
      {!hasDynamic && <FirstTable hasTables={listed.length > 0} />}
      {listed.length > 0 && <Tables listed={listed} nowMs={nowMs} view={view} onView={setView} />}
    </>
  );
}

interface ViewProps {
  readonly view: TablesView;
  readonly onView: (change: Partial<TablesView>) => void;
}

function Tables({ listed, nowMs, view, onView }: OverviewProps & ViewProps) {
  const inGraph = graphTables(listed);
  const isGraph = view.as === "graph" && inGraph.length > 0;
  const shown = listTables(isGraph ? inGraph : listed, view, nowMs);
  if (shown.length === 0) {
    return (
      <div className="card">
        <Empty icon={IconSearchOff} title="No table matches">
          <button
            type="button"
            className="quiet"
            onClick={() => onView({ text: "", condition: "all" })}
          >
            Show all {listed.length}
          </button>
        </Empty>
      </div>
    );
  }
  if (!isGraph) return <TablesList listed={shown} nowMs={nowMs} view={view} onView={onView} />;
  const isFiltered = view.text.trim() !== "" || view.condition !== "all";
  const found = new Set(shown.filter((each) => matches(each, view)).map(({ name }) => name));
  return <TablesGraph listed={inGraph} nowMs={nowMs} found={isFiltered ? found : undefined} />;
}

function Filters({
  listed,
  hasGraph,
  view,
  onView,
}: ViewProps & { readonly listed: readonly ListedTable[]; readonly hasGraph: boolean }) {
  const counts = new Map<TableCondition, number>();
  for (const { dynamic } of listed) {
    if (dynamic === undefined) continue;
    const condition = conditionOf(dynamic);
    counts.set(condition, (counts.get(condition) ?? 0) + 1);
  }
  const offered = conditions.filter((each) => counts.has(each) || view.condition === each);
  return (
    <div className="tables-filters">
      <TextInput
        size="xs"
        aria-label="Filter tables"
        placeholder="Filter by name, column, reason…"
        leftSection={<IconSearch size={14} />}
        data-main-field
        value={view.text}
        onChange={(event) => onView({ text: event.currentTarget.value })}
      />
      {offered.length > 0 && (
        <div className="tables-scroller">
          <SegmentedControl
            size="xs"
            aria-label="State"
            value={view.condition}
            onChange={(value) => onView({ condition: value as TablesView["condition"] })}
            data={[
              { value: "all", label: `All ${listed.length}` },
              ...offered.map((condition) => ({
                value: condition,
                label: `${conditionWord(condition)} ${counts.get(condition) ?? 0}`,
              })),
            ]}
          />
        </div>
      )}
      {hasGraph && (
        <SegmentedControl
          size="xs"
          aria-label="View"
          value={view.as}
          onChange={(value) => onView({ as: value as TablesView["as"] })}
          data={[
            { value: "graph", label: "Graph" },
            { value: "list", label: "List" },
          ]}
        />
      )}
    </div>
  );
}

function Loading() {
  return (
    <div role="status" aria-label="Loading tables">
      <div className="page-head">
        <Title order={1}>Tables</Title>
      </div>
      <div className="card tables-loading">
        <Skeleton height={30} />
        <Skeleton height={30} />
        <Skeleton height={30} />
      </div>
    </div>
  );
}

function Unreadable({ error }: { readonly error: Error }) {
  const hint = error instanceof ApiError ? error.hint : undefined;
  return (
    <div className="card" role="alert">
      <Empty icon={IconDatabaseOff} title="The tables cannot be read">
        <span>{error.message}</span>
        {hint !== undefined && <span>{hint}</span>}
      </Empty>
    </div>
  );
}

/**
 * What is shown is in the address, so that a view can be kept and shared. The field shows a copy: the router changes the address a
 * moment later, and quick typing must not lose letters. A narrow window begins with the list.
 */
function useTablesView(): readonly [TablesView, (change: Partial<TablesView>) => void] {
  const [search, setSearch] = useSearchParams();
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const usual = isNarrow ? "list" : "graph";
  const [view, setView] = useState<TablesView>({
    as: search.get("view") === "list" ? "list" : search.get("view") === "graph" ? "graph" : usual,
    text: search.get("q") ?? "",
    condition: conditions.find((condition) => condition === search.get("state")) ?? "all",
    sort: parseSortKey(search.get("sort") ?? "") ?? "state",
    descending: search.get("order") === "desc",
  });
  const change = (changes: Partial<TablesView>): void => {
    const next = { ...view, ...changes };
    setView(next);
    setSearch(searchOf(next, usual), { replace: true });
  };
  return [view, change];
}

/** What differs from the usual view. */
function searchOf(view: TablesView, usual: TablesView["as"]): Record<string, string> {
  return {
    ...(view.as !== usual && { view: view.as }),
    ...(view.text !== "" && { q: view.text }),
    ...(view.condition !== "all" && { state: view.condition }),
    ...(view.sort !== "state" && { sort: view.sort }),
    ...(view.descending && { order: "desc" }),
  };
}
