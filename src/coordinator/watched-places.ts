import type { LakeLocation } from "../data/lake/index.ts";
import type { DataDir, WatchedPlace } from "../ground/process/index.ts";
import { parseStoreUrl } from "../ground/store/index.ts";

/** PR13. The files and directories that a coordinator or a query-api needs. */
export function watchedPlaces(
  {
    role,
    store,
    discover,
  }: {
    readonly role: "coordinator" | "query_api";
    readonly store?: string;
    readonly discover: string;
  },
  dataDir: Pick<DataDir, "path" | "storePath">,
  { tables, metricsDir }: { readonly tables: LakeLocation; readonly metricsDir: string },
): WatchedPlace[] {
  const places = [{ part: "data_dir", name: "the data directory", path: dataDir.path }];
  const hasStore = role === "coordinator" || discover === "store";
  const location = parseStoreUrl(store ?? dataDir.storePath);
  if (hasStore && location.kind === "sqlite") {
    places.push({ part: "store_file", name: "the store's file", path: location.path });
  }
  const isWatched =
    role === "coordinator" && tables.kind === "directory" && tables.root === metricsDir;
  if (hasStore && tables.kind === "directory" && !isWatched) {
    places.push({ part: "tables_dir", name: "the tables' directory", path: tables.root });
  }
  // A query-api reads no segments itself.
  if (role === "coordinator") {
    places.push({ part: "metrics_dir", name: "the metrics directory", path: metricsDir });
  }
  return places;
}
