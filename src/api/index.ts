/** The HTTP surface: routes, errors, access and limits. */
export type {
  ApiPorts,
  QueriesPort,
  TablesPort,
  WatchMessage,
  WatchRequest,
  WorkersPort,
} from "./ports.ts";
export type {
  LiveBody,
  PartBody,
  QueryRecordBody,
  ReadyBody,
  StatusBody,
  WorkerBody,
} from "./schemas.ts";
export { type ApiConfig, startApi } from "./server.ts";
export type {
  DynamicTableBody,
  DynamicTableDetailBody,
  LagBody,
  RefreshBody,
  TableBody,
} from "./table-schemas.ts";
