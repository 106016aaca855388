/** A table's refreshes, newest first. */
import {
  IconArrowsDiff,
  IconBan,
  IconCircleX,
  IconMinus,
  IconRefreshDot,
} from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { Refresh } from "../../api/gen/types.ts";
import { type ListPage, readJson } from "../../api/http.ts";
import { Card } from "../../components/card.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { type Sign, StateSign } from "../../components/state-sign.tsx";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatMoment,
  plural,
  unknown,
} from "../../format.ts";

interface RefreshHistoryProps {
  readonly name: string;
  readonly nowMs: number;
  /** Changes when there may be a new refresh. */
  readonly version: string;
}

const pageSize = 12;

export function RefreshHistory({ name, nowMs, version }: RefreshHistoryProps) {
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["table-history", name, version],
    queryFn: async ({ pageParam, signal }) => {
      const path = `/api/v1/dynamic-tables/${encodeURIComponent(name)}/history`;
      const after = pageParam === "" ? "" : `&page_token=${pageParam}`;
      return await readJson<ListPage<Refresh>>(`${path}?limit=${pageSize}${after}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: ({ next_page_token }) => next_page_token,
    placeholderData: (before) => before,
    retry: false,
  });
  const refreshes = data?.pages.flatMap(({ items }) => items);
  const longestMs = Math.max(1, ...(refreshes ?? []).map(durationOf));
  return (
    <Card title="Refreshes">
      <DataTable
        label="Refreshes"
        columns={columnsAt(nowMs, longestMs)}
        rows={refreshes}
        rowKey={({ number }) => number}
        rowProps={({ number }) => ({ "data-refresh": number })}
        detail={failureOf}
        error={error}
        empty="It has not been refreshed yet."
        more={hasNextPage && { isLoading: isFetchingNextPage, onMore: () => void fetchNextPage() }}
      />
    </Card>
  );
}

function columnsAt(nowMs: number, longestMs: number): readonly Column<Refresh>[] {
  return [
    {
      title: "When",
      className: "nowrap",
      cell: ({ ended_at_ms: endMs }) => (
        <span title={formatMoment(endMs)}>{formatAge(nowMs - endMs)}</span>
      ),
    },
    {
      title: "What",
      className: "nowrap",
      cell: (refresh) => (
        <span title={refresh.reason}>
          <StateSign sign={signOf(refresh)} />
          {refresh.repeats > 1 && <span className="dim"> × {formatCount(refresh.repeats)}</span>}
        </span>
      ),
    },
    { title: "Rows", className: "num", cell: (refresh) => <Rows refresh={refresh} /> },
    {
      title: "Duration",
      cell: (refresh) => <Duration refresh={refresh} longestMs={longestMs} />,
    },
    { title: "Trigger", className: "from-sm nowrap", cell: (each) => each.trigger.toLowerCase() },
    { title: "Worker", className: "from-sm nowrap", cell: (each) => <Workers refresh={each} /> },
  ];
}

function Rows({ refresh }: { readonly refresh: Refresh }) {
  const { rows_inserted: inserted, rows_deleted: deleted } = refresh;
  if (inserted === 0 && deleted === 0) return <span className="dim">{unknown}</span>;
  return (
    <>
      <span className="tone-good">+{formatCount(inserted)}</span>{" "}
      <span className="tone-bad">−{formatCount(deleted)}</span>
    </>
  );
}

interface DurationProps {
  readonly refresh: Refresh;
  readonly longestMs: number;
}

function Duration({ refresh, longestMs }: DurationProps) {
  if (refresh.action === "NO_DATA") return <span className="dim">{unknown}</span>;
  const width = `${(durationOf(refresh) / longestMs) * 100}%`;
  return (
    <span className="took">
      <span className="took-track" aria-hidden="true">
        <span className="took-fill" style={{ width }} />
      </span>
      <span className="num">{formatDuration(durationOf(refresh))}</span>
    </span>
  );
}

function Workers({ refresh }: { readonly refresh: Refresh }) {
  const { worker_id: id, worker_count: count, part_count: parts } = refresh;
  return (
    <>
      {id ?? <span className="dim">{unknown}</span>}
      {count > 1 && (
        <span className="dim">
          {" "}
          and {count - 1} more, in {plural(parts, "part")}
        </span>
      )}
    </>
  );
}

function failureOf({ error, attempt }: Refresh) {
  return (
    error !== null && (
      <span className="tone-bad">
        {attempt > 1 && `Attempt ${attempt}: `}
        <span className="mono">{error.code}</span> {error.message}
      </span>
    )
  );
}

function signOf({ state, action }: Refresh): Sign {
  if (state === "FAILED") return { word: "Failed", tone: "bad", icon: IconCircleX };
  if (state === "CANCELLED") return { word: "Cancelled", tone: "dim", icon: IconBan };
  if (action === "NO_DATA") return { word: "No change", tone: "dim", icon: IconMinus };
  if (action === "INCREMENTAL") return { word: "Incremental", tone: "good", icon: IconArrowsDiff };
  return { word: "Full", tone: "accent", icon: IconRefreshDot };
}

function durationOf({ action, started_at_ms, ended_at_ms }: Refresh): number {
  return action === "NO_DATA" ? 0 : Math.max(0, ended_at_ms - started_at_ms);
}
