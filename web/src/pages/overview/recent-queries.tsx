/** Queries that run or ended lately, newest first. */
import { ActionIcon, Skeleton, Tooltip } from "@mantine/core";
import { IconPlayerStop } from "@tabler/icons-react";
import type { QueryRecord } from "../../api/gen/types.ts";
import { useCancelQuery } from "../../components/actions.ts";
import { Card } from "../../components/card.tsx";
import { QueryStateSign } from "../../components/state-sign.tsx";
import { formatClock, formatCount, formatDuration, unknown } from "../../format.ts";

export function RecentQueries({
  queries,
}: {
  readonly queries: readonly QueryRecord[] | undefined;
}) {
  return (
    <Card title="Recent queries">
      {queries === undefined ? (
        <div className="card-body">
          <Skeleton height={120} />
        </div>
      ) : (
        <div className="table-scroll">
          <table className="table queries">
            <thead>
              <tr>
                <th>Query</th>
                <th>State</th>
                <th className="from-sm">Worker</th>
                <th className="num">Rows</th>
                <th className="num">Duration</th>
                <th className="num from-md">Attempts</th>
                <th className="num from-md">Started</th>
              </tr>
            </thead>
            <tbody>
              {queries.map((query) => (
                <QueryRow key={query.query_id} query={query} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function QueryRow({ query }: { readonly query: QueryRecord }) {
  const { error } = query;
  return (
    <tr>
      <td className="query-cell">
        <Tooltip label={query.text} multiline maw={560} openDelay={500}>
          <div className="mono truncate">{query.text}</div>
        </Tooltip>
        {error !== null && (
          <div className="query-error truncate" title={error.message}>
            {query.state === "failed" && <span className="mono tone-bad">{error.code} </span>}
            {error.message}
          </div>
        )}
      </td>
      <td>
        <span className="query-state">
          <QueryStateSign state={query.state} />
          {(query.state === "running" || query.state === "queued") && (
            <CancelButton queryId={query.query_id} />
          )}
        </span>
      </td>
      <td className="from-sm nowrap">{query.worker_id ?? unknown}</td>
      <td className="num">{formatCount(query.row_count)}</td>
      <td className="num">{formatDuration(query.duration_ms)}</td>
      <td className="num from-md">{formatCount(query.attempts)}</td>
      <td className="num from-md dim">{formatClock(query.started_at_ms)}</td>
    </tr>
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
