/** The kept rows of a result, under the names and types of their columns. */
import { memo } from "react";
import "./data-table.css";
import "./sql-result.css";
import type { Cell, Column } from "../api/sql-result.ts";
import type { SqlRun } from "../api/sql-session.ts";
import { formatCount } from "../format.ts";

/** Numeric types of DuckDB and of streams. A list of numbers or an INTERVAL does not count. */
const numeric =
  /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DOUBLE|FLOAT|DECIMAL\(\d+,\d+\)|BIGNUM|U?INT(8|16|32|64)|FLOAT(32|64))$/;

type Result = Pick<SqlRun, "columns" | "rows" | "rowCount">;

export function SqlResultTable({ run }: { readonly run: Result }) {
  const hidden = run.rowCount - run.rows.length;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section className="result" tabIndex={0} aria-label="Result rows">
        <table className="table">
          <thead>
            <tr>
              {run.columns.map((column, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name.
                <th key={at} className={alignment(column)}>
                  <span className="result-name">{column.name}</span>{" "}
                  <span className="result-type">{column.type.toLowerCase()}</span>
                </th>
              ))}
              <td className="result-filler" aria-hidden="true" />
            </tr>
          </thead>
          <Rows columns={run.columns} rows={run.rows} count={run.rows.length} />
        </table>
      </section>
      {hidden > 0 && (
        <div className="result-note dim">
          The first {formatCount(run.rows.length)} of {formatCount(run.rowCount)} rows are shown.
        </div>
      )}
    </>
  );
}

interface RowsProps extends Pick<SqlRun, "columns" | "rows"> {
  /** Rows are only added, so their number shows whether they changed. */
  readonly count: number;
}

const Rows = memo(
  ({ columns, rows }: RowsProps) => (
    <tbody>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity, and keep their place.
        <tr key={index}>
          {columns.map((column, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above.
            <td key={at} className={`${alignment(column)} mono`}>
              <Value cell={row[at] ?? null} />
            </td>
          ))}
          <td aria-hidden="true" />
        </tr>
      ))}
    </tbody>
  ),
  (before, after) => before.columns === after.columns && before.count === after.count,
);

function Value({ cell }: { readonly cell: Cell }) {
  if (cell === null) return <span className="dim">NULL</span>;
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

function alignment(column: Column): string {
  return numeric.test(column.type) ? "num" : "";
}
