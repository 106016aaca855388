/** One line a table. Narrow windows show fewer columns; a table's own page has all of them. */
import { Link } from "react-router";
import { type Heading, SortHeading } from "../../components/sort-heading.tsx";
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

const headings: readonly Heading<SortKey>[] = [
  { title: "Name", sort: "name" },
  { title: "State", sort: "state" },
  { title: "Lag", sort: "lag" },
  { title: "Mode", sort: "mode", className: "from-md" },
  { title: "Last refresh", sort: "refreshed", className: "num from-md" },
  { title: "Rows", sort: "rows", className: "num from-sm" },
  { title: "Size", sort: "size", className: "num from-sm" },
];

export function TablesList({ listed, nowMs, view, onView }: TablesListProps) {
  return (
    <div className="card table-scroll">
      <table className="table tables" aria-label="Tables">
        <thead>
          <tr>
            {headings.map((heading) => (
              <SortHeading key={heading.title} heading={heading} view={view} onView={onView} />
            ))}
          </tr>
        </thead>
        <tbody>
          {listed.map((each) => (
            <Line key={each.name} listed={each} nowMs={nowMs} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ listed, nowMs }: { readonly listed: ListedTable; readonly nowMs: number }) {
  const { name, table, dynamic } = listed;
  const condition = dynamic === undefined ? "plain" : conditionOf(dynamic);
  const last = dynamic?.last_refresh ?? undefined;
  return (
    <tr className="table-line" data-table={name} data-condition={condition}>
      <td className="table-name-cell">
        <Link to={tablePath(name)} className="table-name">
          {name}
        </Link>
      </td>
      <td>
        {dynamic === undefined ? (
          <span className="state dim">
            <TableIcon condition="plain" /> Table
          </span>
        ) : (
          <TableSign condition={conditionOf(dynamic)} />
        )}
        {dynamic !== undefined && reasonOf(dynamic) !== "" && (
          <div className="dim table-reason" title={reasonOf(dynamic)}>
            {reasonOf(dynamic)}
          </div>
        )}
      </td>
      <td>
        {dynamic === undefined ? (
          <span className="dim">{unknown}</span>
        ) : (
          <LagBar table={dynamic} nowMs={nowMs} />
        )}
      </td>
      <td className="from-md">
        <span title={dynamic?.mode_reason ?? ""}>{dynamic?.mode.toLowerCase() ?? unknown}</span>
      </td>
      <td className="num from-md">
        {last === undefined ? unknown : formatAgo(Math.max(0, nowMs - last.at_ms))}
      </td>
      <td className="num from-sm">{formatCount(table?.row_count)}</td>
      <td className="num from-sm">{formatBytes(table?.size_bytes)}</td>
    </tr>
  );
}
