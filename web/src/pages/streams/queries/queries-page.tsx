/** All continuous queries, with their states and why. */
import { SegmentedControl } from "@mantine/core";
import { useDatabaseNow } from "../../../api/use-database-now.ts";
import { Card } from "../../../components/card.tsx";
import { Waiting } from "../../../components/data-table.tsx";
import { NoMatch } from "../../../components/empty.tsx";
import { Figure } from "../../../components/figure.tsx";
import { SearchField } from "../../../components/search-field.tsx";
import { useAddressView } from "../../../components/use-address-view.ts";
import { formatCount, plural } from "../../../format.ts";
import { conditionOf, conditions, isPassing, type QueryCondition } from "../query-condition.ts";
import { listQueries, parseSortKey, type QueriesView } from "../query-list.ts";
import { conditionWord } from "../query-sign.tsx";
import { type Streams, useLiveQueries, useStreams } from "../use-streams.ts";
import { FirstQuery } from "./first-query.tsx";
import { QueriesTable } from "./queries-table.tsx";

export function QueriesPage() {
  const { data, error } = useStreams();
  const nowMs = useDatabaseNow(data?.clockOffsetMs ?? 0);
  if (data === undefined) return <Waiting label="Queries" error={error} />;
  return (
    <>
      {data.queries.length === 0 ? (
        <FirstQuery streams={data} />
      ) : (
        <Queries streams={data} nowMs={nowMs} />
      )}
    </>
  );
}

interface QueriesProps {
  readonly streams: Streams;
  readonly nowMs: number;
}

function Queries({ streams, nowMs }: QueriesProps) {
  const [view, setView] = useAddressView(viewOf, searchOf);
  const { queries } = streams;
  const shown = listQueries(queries, view);
  const figures = useLiveQueries(shown);
  return (
    <>
      <Summary streams={streams} />
      <Card
        title="Queries"
        aside={<Filters queries={queries} view={view} onView={setView} />}
        className="stream-queries"
      >
        {shown.length === 0 ? (
          <NoMatch
            what="query"
            count={queries.length}
            onAll={() => setView({ text: "", condition: "all" })}
          />
        ) : (
          <QueriesTable
            queries={shown}
            figures={figures}
            nowMs={nowMs}
            view={view}
            onView={setView}
          />
        )}
      </Card>
    </>
  );
}

function Summary({ streams: { queries, workers } }: Pick<QueriesProps, "streams">) {
  const count = (state: string): number => queries.filter((each) => each.state === state).length;
  const slots = workers.reduce((sum, each) => sum + each.slots, 0);
  const used = workers.reduce((sum, each) => sum + each.slots_used, 0);
  return (
    <dl className="card figures-strip">
      <Figure name="Running" note={`of ${plural(queries.length, "query")}`}>
        {formatCount(count("RUNNING"))}
      </Figure>
      <Figure name="On their way" note="deploying, stopping or waiting">
        {formatCount(queries.filter(isPassing).length)}
      </Figure>
      <Figure name="Failed" note="until they are dropped">
        {formatCount(count("FAILED"))}
      </Figure>
      <Figure
        name="Slots"
        note={`used of ${formatCount(slots)} on ${plural(workers.length, "worker")}`}
      >
        {formatCount(used)}
      </Figure>
    </dl>
  );
}

interface FiltersProps {
  readonly queries: Streams["queries"];
  readonly view: QueriesView;
  readonly onView: (change: Partial<QueriesView>) => void;
}

function Filters({ queries, view, onView }: FiltersProps) {
  const counts = new Map<QueryCondition, number>();
  for (const query of queries) {
    const condition = conditionOf(query);
    counts.set(condition, (counts.get(condition) ?? 0) + 1);
  }
  const offered = conditions.filter((each) => counts.has(each) || view.condition === each);
  return (
    <div className="page-filters">
      <SearchField
        label="Filter queries"
        placeholder="Filter by name, statement, reason…"
        value={view.text}
        onText={(text) => onView({ text })}
      />
      {(offered.length > 1 || view.condition !== "all") && (
        <div className="scroller">
          <SegmentedControl
            size="xs"
            aria-label="State"
            value={view.condition}
            onChange={(value) => onView({ condition: value as QueriesView["condition"] })}
            data={[
              { value: "all", label: `All ${queries.length}` },
              ...offered.map((condition) => ({
                value: condition,
                label: `${conditionWord(condition)} ${counts.get(condition) ?? 0}`,
              })),
            ]}
          />
        </div>
      )}
    </div>
  );
}

function viewOf(search: URLSearchParams): QueriesView {
  return {
    text: search.get("q") ?? "",
    condition: conditions.find((condition) => condition === search.get("state")) ?? "all",
    sort: parseSortKey(search.get("sort") ?? "") ?? "state",
    descending: search.get("order") === "desc",
  };
}

/** The address parameters that differ from the default view. */
function searchOf(view: QueriesView): Record<string, string> {
  return {
    ...(view.text !== "" && { q: view.text }),
    ...(view.condition !== "all" && { state: view.condition }),
    ...(view.sort !== "state" && { sort: view.sort }),
    ...(view.descending && { order: "desc" }),
  };
}
