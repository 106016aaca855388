/** Running and recent queries, newest first. */
import { ActionIcon, Tooltip } from "@mantine/core";
import { IconPlayerStop } from "@tabler/icons-react";
import type { QueryRecord } from "../../api/gen/types.ts";
import { useCancelQuery } from "../../components/actions.ts";
import { Card } from "../../components/card.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { QueryStateSign } from "../../components/state-sign.tsx";
import { formatClock, formatCount, formatDuration, unknown } from "../../format.ts";

const columns: readonly Column<QueryRecord>[] = [
  { title: "Query", className: "query-cell", cell: (query) => <Text query={query} /> },
  {
    title: "State",
    cell: ({ state, query_id: id }) => (
      <span className="query-state">
        <QueryStateSign state={state} />
        {(state === "running" || state === "queued") && <CancelButton queryId={id} />}
      </span>
    ),
  },
  {
    title: "Worker",
    className: "from-sm nowrap",
    cell: ({ worker_id: id }) => id ?? unknown,
  },
  { title: "Rows", className: "num", cell: (query) => formatCount(query.row_count) },
  { title: "Duration", className: "num", cell: (query) => formatDuration(query.duration_ms) },
  { title: "Attempts", className: "num from-md", cell: (query) => formatCount(query.attempts) },
  {
    title: "Started",
    className: "num from-md dim",
    cell: (query) => formatClock(query.started_at_ms),
  },
];

export function RecentQueries({
  queries,
}: {
  readonly queries: readonly QueryRecord[] | undefined;
}) {
  return (
    <Card title="Recent queries">
      <DataTable
        label="Recent queries"
        columns={columns}
        rows={queries}
        rowKey={({ query_id: id }) => id}
      />
    </Card>
  );
}

function Text({ query: { text, state, error } }: { readonly query: QueryRecord }) {
  return (
    <>
      <Tooltip label={text} multiline maw={560} openDelay={500}>
        <div className="mono truncate">{text}</div>
      </Tooltip>
      {error !== null && (
        <div className="query-error truncate" title={error.message}>
          {state === "failed" && <span className="mono tone-bad">{error.code} </span>}
          {error.message}
        </div>
      )}
    </>
  );
}

function CancelButton({ queryId }: { readonly queryId: string }) {
  const cancel = useCancelQuery();
  return (
    <Tooltip label="Cancel this query">
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={`Cancel query ${queryId}`}
        loading={cancel.isPending}
        onClick={() => cancel.mutate(queryId)}
      >
        <IconPlayerStop size={14} />
      </ActionIcon>
    </Tooltip>
  );
}
