import { SegmentedControl, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useMemo } from "react";
import { useParams } from "react-router";
import { useDatabaseNow } from "../../api/use-database-now.ts";
import { useStaleClass } from "../../components/connection.tsx";
import { Waiting } from "../../components/data-table.tsx";
import { NoMatch } from "../../components/empty.tsx";
import { SearchField } from "../../components/search-field.tsx";
import { useAddressView } from "../../components/use-address-view.ts";
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
import { useTables } from "./use-tables.ts";

export function Component() {
  const { tableName } = useParams();
  const { data, error } = useTables();
  const nowMs = useDatabaseNow(data?.clockOffsetMs ?? 0);
  const listed = useMemo(() => data && joinTables(data.tables, data.dynamicTables), [data]);
  const stale = useStaleClass();
  if (listed === undefined) {
    return (
      <div className="page">
        <div className="page-head">
          <Title order={1}>Tables</Title>
        </div>
        <Waiting label="Tables" error={error} />
      </div>
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
        <NoMatch
          what="table"
          count={listed.length}
          onAll={() => onView({ text: "", condition: "all" })}
        />
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
    <div className="page-filters">
      <SearchField
        label="Filter tables"
        placeholder="Filter by name, column, reason…"
        value={view.text}
        onText={(text) => onView({ text })}
      />
      {offered.length > 0 && (
        <div className="scroller">
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

/** A narrow window starts with the list. */
function useTablesView() {
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const usual = isNarrow ? "list" : "graph";
  return useAddressView<TablesView>(
    (search) => ({
      as: search.get("view") === "list" ? "list" : search.get("view") === "graph" ? "graph" : usual,
      text: search.get("q") ?? "",
      condition: conditions.find((condition) => condition === search.get("state")) ?? "all",
      sort: parseSortKey(search.get("sort") ?? "") ?? "state",
      descending: search.get("order") === "desc",
    }),
    (view) => searchOf(view, usual),
  );
}

/** The address parameters that differ from the default view. */
function searchOf(view: TablesView, usual: TablesView["as"]): Record<string, string> {
  return {
    ...(view.as !== usual && { view: view.as }),
    ...(view.text !== "" && { q: view.text }),
    ...(view.condition !== "all" && { state: view.condition }),
    ...(view.sort !== "state" && { sort: view.sort }),
    ...(view.descending && { order: "desc" }),
  };
}
