/**
 * What the catalog of streams has, live. It is read again when a query changed, and more often than
 * usual while one goes from a state to the next, because its fragments change in between.
 */
import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import type {
  LiveQuery,
  StreamQuery,
  StreamQueryDetail,
  StreamSnapshot,
} from "../../api/gen/types.ts";
import { readJson } from "../../api/http.ts";
import { useWatched } from "../../api/use-watched.ts";
import { useRefusedToken } from "../../components/use-refused-token.ts";
import { isPassing } from "./query-condition.ts";

export interface Streams extends Required<StreamSnapshot> {
  /** The database's clock minus this browser's. */
  readonly clockOffsetMs: number;
}

const busyMs = 1_500;
const quietMs = 10_000;
const figuresMs = 1_000;
const listedFiguresMs = 2_000;
/** The API gives no more by one request. */
const listedFiguresMax = 30;
const noFigures: ReadonlyMap<string, LiveQuery> = new Map();
const watchedQueries =
  "SELECT state, state_reason, desired_state, stop_mode, epoch, superseded_by FROM queries";
/** Whatever this page shows of the catalog has a key that begins so. */
export const streamsKey = ["streams"];

export function useStreams(): UseQueryResult<Streams> {
  useWatched(watchedQueries, streamsKey);
  const result = useQuery({
    queryKey: [...streamsKey, "snapshot"],
    queryFn: async ({ signal }): Promise<Streams> => {
      const read = await readJson<Required<StreamSnapshot>>("/api/v1/streams/snapshot", { signal });
      return { ...read, clockOffsetMs: read.now_ms - Date.now() };
    },
    refetchInterval: ({ state }) => (state.data?.queries.some(isPassing) ? busyMs : quietMs),
    retry: false,
  });
  useRefusedToken(result.error);
  return result;
}

/** One query with its fragments and history; `key` is its name or id. */
export function useStreamQuery(key: string): UseQueryResult<StreamQueryDetail> {
  return useQuery({
    queryKey: [...streamsKey, "query", key],
    queryFn: ({ signal }) =>
      readJson<StreamQueryDetail>(`/api/v1/streams/queries/${encodeURIComponent(key)}`, { signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && isPassing(state.data) ? busyMs : quietMs,
    retry: false,
  });
}

/** Of the first of those that run; a list is read less often than a single query. */
export function useLiveQueries(queries: readonly StreamQuery[]): ReadonlyMap<string, LiveQuery> {
  const ids = queries
    .filter(({ state }) => state === "RUNNING")
    .slice(0, listedFiguresMax)
    .map(({ query_id }) => query_id)
    .join(",");
  const { data } = useQuery({
    queryKey: ["stream-figures", "listed", ids],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/streams/live?queries=${encodeURIComponent(ids)}`;
      const { items } = await readJson<{ readonly items: readonly LiveQuery[] }>(path, { signal });
      return new Map(items.map((live) => [live.query_id, live]));
    },
    enabled: ids !== "",
    refetchInterval: listedFiguresMs,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return data ?? noFigures;
}

/** What it does at this moment, each second: workers tell their figures that often. */
export function useLiveQuery(queryId: string): UseQueryResult<LiveQuery> {
  return useQuery({
    queryKey: ["stream-figures", queryId],
    queryFn: ({ signal }) =>
      readJson<LiveQuery>(`/api/v1/streams/queries/${encodeURIComponent(queryId)}/live`, {
        signal,
      }),
    refetchInterval: figuresMs,
    retry: false,
  });
}
