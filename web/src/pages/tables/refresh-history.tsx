/** A table's refreshes, the newest first. */
import { Button } from "@mantine/core";
import {
  IconArrowsDiff,
  IconBan,
  IconCircleX,
  IconMinus,
  IconRefreshDot,
} from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { Refresh } from "../../api/gen/types.ts";
import { type ListPage, request } from "../../api/http.ts";
import { Card } from "../../components/card.tsx";
import { type Sign, StateSign } from "../../components/state-sign.tsx";
import { formatAge, formatCount, formatDuration, formatMoment, unknown } from "../../format.ts";

interface RefreshHistoryProps {
  readonly name: string;
  readonly nowMs: number;
  /** Changes when there may be another one. */
  readonly version: string;
}

const pageSize = 12;

export function RefreshHistory({ name, nowMs, version }: RefreshHistoryProps) {
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["table-history", name, version],
    queryFn: async ({ pageParam, signal }) => {
      const path = `/api/v1/dynamic-tables/${encodeURIComponent(name)}/history`;
      const after = pageParam === "" ? "" : `&page_token=${pageParam}`;
      const response = await request(`${path}?limit=${pageSize}${after}`, { signal });
      return (await response.json()) as ListPage<Refresh>;
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
      {refreshes?.length === 0 && <p className="dim card-body">It has not been refreshed yet.</p>}
      {error !== null && refreshes === undefined && (
        <p className="dim card-body">{error.message}</p>
      )}
      {refreshes !== undefined && refreshes.length > 0 && (
        <div className="table-scroll">
          <table className="table refreshes" aria-label="Refreshes">
            <thead>
              <tr>
                <th>When</th>
                <th>What</th>
                <th className="num">Rows</th>
                <th>Duration</th>
                <th className="from-sm">Trigger</th>
                <th className="from-sm">Worker</th>
              </tr>
            </thead>
            <tbody>
              {refreshes.map((refresh) => (
                <Line key={refresh.number} refresh={refresh} nowMs={nowMs} longestMs={longestMs} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasNextPage && (
        <div className="more">
          <Button
            variant="subtle"
            loading={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            Show older ones
          </Button>
        </div>
      )}
    </Card>
  );
}

interface LineProps {
  readonly refresh: Refresh;
  readonly nowMs: number;
  readonly longestMs: number;
}

function Line({ refresh, nowMs, longestMs }: LineProps) {
  const { error, rows_inserted, rows_deleted, repeats, attempt } = refresh;
  const nothing = rows_inserted === 0 && rows_deleted === 0;
  const isRun = refresh.action === "NO_DATA";
  return (
    <>
      <tr data-refresh={refresh.number}>
        <td className="nowrap" title={formatMoment(refresh.ended_at_ms)}>
          {formatAge(nowMs - refresh.ended_at_ms)}
        </td>
        <td className="nowrap" title={refresh.reason}>
          <StateSign sign={signOf(refresh)} />
          {repeats > 1 && <span className="dim"> × {formatCount(repeats)}</span>}
        </td>
        <td className="num">
          {nothing ? (
            <span className="dim">{unknown}</span>
          ) : (
            <>
              <span className="tone-good">+{formatCount(rows_inserted)}</span>{" "}
              <span className="tone-bad">−{formatCount(rows_deleted)}</span>
            </>
          )}
        </td>
        <td>
          {isRun ? (
            <span className="dim">{unknown}</span>
          ) : (
            <span className="took">
              <span className="took-track" aria-hidden="true">
                <span
                  className="took-fill"
                  style={{ width: `${(durationOf(refresh) / longestMs) * 100}%` }}
                />
              </span>
              <span className="num">{formatDuration(durationOf(refresh))}</span>
            </span>
          )}
        </td>
        <td className="from-sm nowrap">{refresh.trigger.toLowerCase()}</td>
        <td className="from-sm nowrap">
          {refresh.worker_id ?? <span className="dim">{unknown}</span>}
          {refresh.worker_count > 1 && (
            <span className="dim">
              {" "}
              and {refresh.worker_count - 1} more, in {refresh.part_count} parts
            </span>
          )}
        </td>
      </tr>
      {error !== null && (
        <tr className="refresh-error">
          <td colSpan={6}>
            {attempt > 1 && `Attempt ${attempt}: `}
            <span className="mono">{error.code}</span> {error.message}
          </td>
        </tr>
      )}
    </>
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
