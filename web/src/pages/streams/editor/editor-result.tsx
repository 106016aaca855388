/** What became of the statements: rows, what was accepted, or why not. */
import { Anchor } from "@mantine/core";
import { Link } from "react-router";
import type { SqlRun } from "../../../api/sql-session.ts";
import { SqlResultTable } from "../../../components/sql-result-table.tsx";
import { formatDuration, plural } from "../../../format.ts";
import { queryPath } from "../links.ts";

interface EditorResultProps {
  readonly run: SqlRun;
  /** Where in the text the failure is. */
  readonly place: string | undefined;
}

export function EditorResult({ run, place }: EditorResultProps) {
  const { failure } = run;
  return (
    <>
      <div className="card-body editor-outcome dim" role="status" aria-label="Result">
        {outcomeText(run)}
        {run.status === "done" && <Accepted run={run} />}
      </div>
      {failure !== undefined && (
        <div className="card-body">
          <div className="failure" role="alert">
            <span className="mono tone-bad">{failure.code}</span>
            {place !== undefined && <span className="dim"> {place}</span>}
            <div className="failure-message">{failure.message}</div>
            {failure.hint !== undefined && <div className="dim">{failure.hint}</div>}
          </div>
        </div>
      )}
      {run.columns.length > 0 && <SqlResultTable run={run} />}
    </>
  );
}

/** Links to the queries that were created. */
function Accepted({ run: { columns, rows } }: { readonly run: SqlRun }) {
  const at = (name: string): number => columns.findIndex((column) => column.name === name);
  const [object, id, name, status] = [at("object"), at("id"), at("name"), at("status")];
  if (object < 0 || status < 0) return null;
  const created = rows.filter(
    (row) => row[object] === "query" && /^accepted(?:$|: it replaces)/.test(String(row[status])),
  );
  return created.map((row) => {
    const key = String(row[name] ?? row[id]);
    return (
      <Anchor key={key} component={Link} to={queryPath(key)} size="sm">
        To {key}
      </Anchor>
    );
  });
}

function outcomeText({ status, rowCount, durationMs }: SqlRun): string {
  const took = formatDuration(durationMs);
  switch (status) {
    case "idle":
      return "";
    case "running":
      return rowCount === 0 ? `running, ${took}` : `${plural(rowCount, "row")} so far, ${took}`;
    case "done":
      return `${plural(rowCount, "row")} in ${took}`;
    case "failed":
      return `refused after ${took}`;
    case "cancelled":
      return `ended after ${plural(rowCount, "row")}, ${took}`;
  }
}
