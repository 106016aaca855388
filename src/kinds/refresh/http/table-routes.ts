/** All routes of tables and of the refresh load. */
import type { InstallRoutes } from "../../../ground/http/index.ts";
import type { RefreshLoad } from "./external-metrics.ts";
import { installRefreshLoad } from "./refresh-load.ts";
import { installTables } from "./tables.ts";
import type { TablesPort } from "./tables-port.ts";

export function tableRoutes(
  tables: TablesPort,
  readLoad: () => Promise<RefreshLoad>,
): InstallRoutes {
  return (app, { clock, prng }) => {
    installRefreshLoad(app, readLoad, clock);
    installTables(app, tables, prng);
  };
}
