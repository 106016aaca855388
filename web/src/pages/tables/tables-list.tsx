/**
 * One row for each table. Narrow windows show fewer columns; a table's own page has all of them.
 */
import { Link } from "react-router";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { formatAgo, formatBytes, formatCount, unknown } from "../../format.ts";
import { LagBar } from "./lag-bar.tsx";
import { tablePath } from "./links.ts";
import { conditionOf, reasonOf } from "./table-condition.ts";
import type { ListedTable, SortKey, TablesView } from "./table-list.ts";
import { TableIcon, TableSign } from "./table-sign.tsx";

interface TablesListProps {
  readonly listed: readonly ListedTable[];
  readonly nowMs: number;
  readonly view: TablesView;
  readonly onView: (change: Partial<TablesView>) => void;
}

const tones: Readonly<Partial<Record<string, "bad" | "warn">>> = { failed: "bad", late: "warn" };

export function TablesList({ listed, nowMs, view, onView }: TablesListProps) {
  const columns: readonly Column<ListedTable, SortKey>[] = [
    {
      title: "Name",
      sort: "name",
      className: "row-name",
      cell: ({ name }) => (
        <Link to={tablePath(name)} className="row-link">
          {name}
        </Link>
      ),
    },
    { title: "State", sort: "state", cell: ({ dynamic }) => <State dynamic={dynamic} /> },
    {
      title: "Lag",
      sort: "lag",
      cell: ({ dynamic }) =>
        dynamic ? <LagBar table={dynamic} nowMs={nowMs} /> : <span className="dim">{unknown}</span>,
    },
    {
      title: "Mode",
      sort: "mode",
      className: "from-md",
      cell: ({ dynamic }) => (
        <span title={dynamic?.mode_reason ?? ""}>{dynamic?.mode.toLowerCase() ?? unknown}</span>
      ),
    },
    {
      title: "Last refresh",
      sort: "refreshed",
      className: "num from-md",
      cell: ({ dynamic }) => {
        const atMs = dynamic?.last_refresh?.at_ms;
        return atMs === undefined ? unknown : formatAgo(Math.max(0, nowMs - atMs));
      },
    },
    {
      title: "Rows",
      sort: "rows",
      className: "num from-sm",
      cell: ({ table }) => formatCount(table?.row_count),
    },
    {
      title: "Size",
      sort: "size",
      className: "num from-sm",
      cell: ({ table }) => formatBytes(table?.size_bytes),
    },
  ];
  return (
    <div className="card">
      <DataTable
        label="Tables"
        columns={columns}
        rows={listed}
        rowKey={({ name }) => name}
        rowProps={({ name, dynamic }) => {
          const condition = dynamic === undefined ? "plain" : conditionOf(dynamic);
          return {
            "data-table": name,
            "data-condition": condition,
            "data-tone": tones[condition],
          };
        }}
        view={view}
        onView={onView}
      />
    </div>
  );
}

function State({ dynamic }: Pick<ListedTable, "dynamic">) {
  if (dynamic === undefined) {
    return (
      <span className="state dim">
        <TableIcon condition="plain" /> Table
      </span>
    );
  }
  const reason = reasonOf(dynamic);
  return (
    <>
      <TableSign condition={conditionOf(dynamic)} />
      {reason !== "" && (
        <div className="dim row-note" title={reason}>
          {reason}
        </div>
      )}
    </>
  );
}
