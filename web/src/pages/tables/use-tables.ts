/**
 * All tables, live. The change log only signals that a dynamic table changed; then the lists are
 * read again, because claims and sizes are not in the log.
 * They are read at most every `spacingMs`, and more often than usual during a refresh, because its
 * end has to be seen. A hidden tab closes the stream.
 */
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useCluster } from "../../api/cluster.ts";
import type { DynamicTable, LakeTable } from "../../api/gen/types.ts";
import { ApiError, type ListPage, readJson } from "../../api/http.ts";
import { Subscription } from "../../api/subscription.ts";

export interface Tables {
  readonly tables: readonly LakeTable[];
  readonly dynamicTables: readonly DynamicTable[];
  /** The database's clock minus this browser's. */
  readonly clockOffsetMs: number;
}

const spacingMs = 700;
const busyMs = 1_500;
const quietMs = 10_000;
const watched =
  "SELECT status, status_reason, wait_reason, target_lag_ms, mode, target_snapshot, data_snapshot, late_since_ms, " +
  "last_refresh_at_ms, last_error FROM dynamic_tables";

export function useTables(): UseQueryResult<Tables> {
  useTableChanges();
  const cluster = useCluster();
  const result = useQuery({
    queryKey: ["tables"],
    queryFn: ({ signal }) => readTables(signal),
    refetchInterval: ({ state }) => (isBusy(state.data) ? busyMs : quietMs),
    retry: false,
    structuralSharing: true,
  });
  const { error } = result;
  useEffect(() => {
    if (error instanceof ApiError && error.status === 401) cluster.promptForToken("refused");
  }, [error, cluster]);
  return result;
}

function isBusy(tables: Tables | undefined): boolean {
  return tables?.dynamicTables.some(({ activity }) => activity !== "idle") ?? false;
}

async function readTables(signal: AbortSignal): Promise<Tables> {
  let clockOffsetMs = 0;
  const [tables, dynamicTables] = await Promise.all([
    readAll<LakeTable>("/api/v1/tables", signal),
    readAll<DynamicTable>("/api/v1/dynamic-tables", signal, (page) => {
      clockOffsetMs = (page as unknown as { now_ms: number }).now_ms - Date.now();
    }),
  ]);
  return { tables, dynamicTables, clockOffsetMs };
}

async function readAll<T>(
  path: string,
  signal: AbortSignal,
  onPage: (page: ListPage<T>) => void = () => undefined,
): Promise<readonly T[]> {
  const items: T[] = [];
  let token: string | null = "";
  while (token !== null) {
    const after: string = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
    const page: ListPage<T> = await readJson(`${path}?limit=500${after}`, { signal });
    onPage(page);
    items.push(...page.items);
    token = page.next_page_token;
  }
  return items;
}

function useTableChanges(): void {
  const queries = useQueryClient();
  const cluster = useCluster();
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden);
  useEffect(() => {
    if (!isVisible) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let revision: string | undefined;
    const changed = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ["tables"] });
      }, spacingMs);
    };
    const subscription = new Subscription({
      path: () => {
        const query = new URLSearchParams({ select: watched });
        if (revision !== undefined) query.set("revision", revision);
        return `/api/v1/watch?${query}`;
      },
      silenceMsMax: 40_000,
      onEvent: ({ event, data }) => {
        revision = event === "error" ? undefined : revisionOf(data);
        changed();
      },
      onStatus: () => undefined, // The lists report by themselves when nobody answers.
      onUnauthenticated: () => cluster.promptForToken("refused"),
    });
    void subscription.run();
    return () => {
      clearTimeout(timer);
      subscription.stop();
    };
  }, [isVisible, queries, cluster]);
}

function revisionOf(data: string): string {
  return String((JSON.parse(data) as { revision: number }).revision);
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** The database's time, updated once a second, because lags grow while nothing happens. */
export function useDatabaseNow(clockOffsetMs: number): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs + clockOffsetMs;
}
