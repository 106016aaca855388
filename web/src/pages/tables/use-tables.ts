/**
 * All tables, live. The lists are read again when a dynamic table changed, and more often than
 * usual during a refresh, because its end has to be seen.
 */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { DynamicTable, LakeTable } from "../../api/gen/types.ts";
import { readAll } from "../../api/read-all.ts";
import { useWatched } from "../../api/use-watched.ts";
import { useRefusedToken } from "../../components/use-refused-token.ts";

export interface Tables {
  readonly tables: readonly LakeTable[];
  readonly dynamicTables: readonly DynamicTable[];
  /** The database's clock minus this browser's. */
  readonly clockOffsetMs: number;
}

const busyMs = 1_500;
const quietMs = 10_000;
const watched =
  "SELECT status, status_reason, wait_reason, target_lag_ms, mode, target_snapshot, data_snapshot, late_since_ms, " +
  "last_refresh_at_ms, last_error FROM dynamic_tables";

export function useTables(): UseQueryResult<Tables> {
  useWatched(watched, ["tables"]);
  const result = useQuery({
    queryKey: ["tables"],
    queryFn: ({ signal }) => readTables(signal),
    refetchInterval: ({ state }) => (isBusy(state.data) ? busyMs : quietMs),
    retry: false,
    structuralSharing: true,
  });
  useRefusedToken(result.error);
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
