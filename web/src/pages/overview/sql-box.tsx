/** A SQL statement to run, and its result. */
import { Button, Textarea } from "@mantine/core";
import { IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import type { KeyboardEvent } from "react";
import { type SqlRun, useSqlDraft, useSqlRun, useSqlSession } from "../../api/sql-session.ts";
import { Card } from "../../components/card.tsx";
import { Keys } from "../../components/shortcuts.tsx";
import { SqlResultTable } from "../../components/sql-result-table.tsx";
import { formatDuration, plural } from "../../format.ts";

const examples = [
  "SELECT 42 AS answer",
  "SELECT i, i * i AS square FROM range(1, 11) t(i)",
  "SELECT count(*) AS n, sum(i) AS total FROM range(10000000) t(i)",
];

export function SqlBox() {
  const session = useSqlSession();
  const run = useSqlRun();
  const draft = useSqlDraft();
  const running = run.status === "running";
  const submit = (): void => void session.run(draft.trim());
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (draft.trim() !== "") submit();
    } else if (event.key === "Escape" && running) {
      session.cancel();
    }
  };
  return (
    <Card title="SQL" className="sql" aside={<Outcome run={run} />}>
      <div className="card-body">
        <Textarea
          aria-label="SQL statement"
          placeholder="SELECT … (DuckDB's SQL, one statement)"
          data-main-field
          autosize
          minRows={2}
          maxRows={14}
          spellCheck={false}
          classNames={{ input: "mono" }}
          value={draft}
          onChange={(event) => session.setDraft(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <div className="sql-bar">
          {running ? (
            <Button
              variant="default"
              leftSection={<IconPlayerStop size={14} />}
              onClick={() => session.cancel()}
            >
              Cancel
            </Button>
          ) : (
            <Button
              leftSection={<IconPlayerPlay size={14} />}
              disabled={draft.trim() === ""}
              onClick={submit}
            >
              Run
            </Button>
          )}
          <span className="dim sql-keys">
            <Keys keys="Ctrl Enter" />
          </span>
          <div className="sql-examples">
            {examples.map((example) => (
              <button
                key={example}
                type="button"
                className="chip mono truncate"
                title={example}
                onClick={() => session.setDraft(example)}
              >
                {example}
              </button>
            ))}
          </div>
        </div>
        {run.failure !== undefined && (
          <div className="failure" role="alert">
            <div>
              <span className="mono tone-bad">{run.failure.code}</span>
            </div>
            <div className="failure-message">{run.failure.message}</div>
            {run.failure.hint !== undefined && <div className="dim">{run.failure.hint}</div>}
          </div>
        )}
      </div>
      {run.columns.length > 0 && <SqlResultTable run={run} />}
    </Card>
  );
}

function Outcome({ run }: { readonly run: SqlRun }) {
  return (
    <span className="dim sql-outcome" role="status" aria-label="Result">
      {outcomeText(run)}
    </span>
  );
}

function outcomeText(run: SqlRun): string {
  const took = formatDuration(run.durationMs);
  switch (run.status) {
    case "idle":
      return "";
    case "running":
      return run.rowCount === 0
        ? `running, ${took}`
        : `running, ${plural(run.rowCount, "row")} so far, ${took}`;
    case "done": {
      const where = run.workerId === undefined ? "" : ` on ${run.workerId}`;
      return `${plural(run.rowCount, "row")} in ${took}${where}`;
    }
    case "failed":
      return `failed after ${took}`;
    case "cancelled":
      return `cancelled after ${took}`;
  }
}
