/** All routes of statements: SQL, queries under way, files for COPY, and subscriptions. */
import type { InstallRoutes } from "../../../ground/http/index.ts";
import { installQueries } from "./queries.ts";
import type { QueriesPort } from "./queries-port.ts";
import { installUploads, type UploadsPort } from "./uploads.ts";
import { installWatch, type WatchPort } from "./watch.ts";

export function queryRoutes(queries: QueriesPort): InstallRoutes {
  return (app, { prng }) => installQueries(app, queries, prng);
}

/** The routes of a process that has a store. */
export function catalogRoutes(uploads: UploadsPort, catalog: WatchPort): InstallRoutes {
  return async (app, http) => {
    await installUploads(app, uploads);
    installWatch(app, catalog, http);
  };
}
