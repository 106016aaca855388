/** One row for each query. Narrow windows show fewer columns; a query's page has all of them. */
import { Link } from "react-router";
import type { LiveQuery, StreamQuery } from "../../../api/gen/types.ts";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { formatAge, formatCount, formatLag, formatMoment, formatRate } from "../../../format.ts";
import { queryKey, queryPath } from "../links.ts";
import { totalsOf } from "../query/live-figures.ts";
import { useSilence } from "../query/use-silence.ts";
import { conditionOf, type QueryCondition, reasonOf, wantedText } from "../query-condition.ts";
import { fragmentCount, nameOf, type QueriesView, type SortKey } from "../query-list.ts";
import { QuerySign } from "../query-sign.tsx";

interface QueriesTableProps {
  readonly queries: readonly StreamQuery[];
  /** What those that run do at this moment, as far as it is known. */
  readonly figures: ReadonlyMap<string, LiveQuery>;
  readonly nowMs: number;
  readonly view: QueriesView;
  readonly onView: (change: Partial<QueriesView>) => void;
}

const tones: Readonly<Partial<Record<QueryCondition, "bad" | "warn">>> = {
  failed: "bad",
  failing: "bad",
  stuck: "bad",
  partial: "warn",
  redeploying: "warn",
};

export function QueriesTable({ queries, figures, nowMs, view, onView }: QueriesTableProps) {
  const silenceOf = useSilence(figures);
  const totals = new Map([...figures].map(([id, live]) => [id, totalsOf(live)]));
  const columns: readonly Column<StreamQuery, SortKey>[] = [
    { title: "Name", sort: "name", className: "row-name", cell: (query) => <Name query={query} /> },
    {
      title: "State",
      sort: "state",
      cell: (query) => <State query={query} silence={silenceOf(query.query_id)} />,
    },
    {
      title: "Rows in/s",
      className: "num from-sm",
      cell: ({ query_id }) => formatRate(totals.get(query_id)?.rowsInPerSecond),
    },
    {
      title: "Rows out/s",
      className: "num from-sm",
      cell: ({ query_id }) => formatRate(totals.get(query_id)?.rowsOutPerSecond),
    },
    {
      title: "Behind",
      className: "num from-md",
      cell: ({ query_id }) => formatLag(totals.get(query_id)?.watermarkLagMs),
    },
    {
      title: "Since",
      sort: "changed",
      className: "num from-sm",
      cell: ({ state_changed_at_ms: atMs }) => (
        <span title={formatMoment(atMs)}>{formatAge(nowMs - atMs)}</span>
      ),
    },
    {
      title: "Fragments",
      sort: "fragments",
      className: "num from-md",
      cell: (query) => <Fragments query={query} />,
    },
    { title: "Guarantee", className: "from-lg nowrap", cell: ({ guarantee }) => guarantee },
    {
      title: "Created",
      sort: "created",
      className: "num from-lg",
      cell: ({ created_at_ms: atMs }) => (
        <span title={formatMoment(atMs)}>{formatAge(nowMs - atMs)}</span>
      ),
    },
  ];
  return (
    <DataTable
      label="Queries"
      columns={columns}
      rows={queries}
      rowKey={({ query_id }) => query_id}
      rowProps={(query) => {
        const condition = conditionOf(query);
        return {
          "data-query": nameOf(query),
          "data-condition": condition,
          "data-tone": tones[condition],
        };
      }}
      view={view}
      onView={onView}
    />
  );
}

function Name({ query }: { readonly query: StreamQuery }) {
  const note = noteOf(query);
  return (
    <>
      <Link to={queryPath(queryKey(query))} className="row-link">
        {nameOf(query)}
      </Link>
      {note !== "" && <div className="dim row-note">{note}</div>}
    </>
  );
}

function noteOf({ is_preview, name, superseded_by }: StreamQuery): string {
  if (is_preview) return "preview";
  if (superseded_by !== null) return `query ${superseded_by} takes its place`;
  return name === null ? "without a name" : "";
}

interface StateProps {
  readonly query: StreamQuery;
  readonly silence: string;
}

function State({ query, silence }: StateProps) {
  const reason = reasonOf(query);
  const wanted = wantedText(query);
  const note = [wanted, reason, silence].filter((text) => text !== "").join("; ");
  return (
    <>
      <QuerySign condition={conditionOf(query)} />
      {note !== "" && (
        <div className="dim row-note" title={note}>
          {note}
        </div>
      )}
    </>
  );
}

/** How many of them run, where not all do. */
function Fragments({ query }: { readonly query: StreamQuery }) {
  const all = fragmentCount(query);
  const running = query.fragments.RUNNING ?? 0;
  if (running === all || query.state !== "DEPLOYING") return formatCount(all);
  return (
    <>
      {formatCount(running)} <span className="dim">of {formatCount(all)}</span>
    </>
  );
}
