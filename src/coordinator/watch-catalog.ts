/** Subscriptions to the catalog, with flags as the API shows them. */
import type { WatchMessage, WatchRequest } from "../api/index.ts";
import { OperatingError } from "../kernel/errors.ts";
import {
  isWatchedTable,
  parseWatchSelect,
  type WatchEvent,
  type WatchSelect,
  watch,
  watchedTables,
} from "../store/index.ts";
import type { PortsConfig } from "./ports-config.ts";
import { watchedRow } from "./worker-bodies.ts";

/** Throws at once for what cannot be watched, so that the caller hears it before the stream begins. */
export function watchCatalog(
  { store }: PortsConfig,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncIterable<WatchMessage> {
  if (store === undefined) {
    throw new OperatingError("unsupported", "never", "this process has no store to watch", {
      hint: "Ask a coordinator.",
    });
  }
  const { fromRevision } = request;
  return asMessages(watch(store, { ...selectOf(request), fromRevision, signal }));
}

async function* asMessages(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchMessage> {
  for await (const event of events) {
    if (event.type === "SNAPSHOT") yield { ...event, data: event.data.map(watchedRow) };
    else if (event.data === undefined) yield event;
    else yield { ...event, data: watchedRow(event.data) };
  }
}

function selectOf({ table, select }: WatchRequest): WatchSelect {
  if (select !== undefined) return parseWatchSelect(select);
  if (table !== undefined && isWatchedTable(table)) return { table, columns: undefined, where: [] };
  const known = Object.keys(watchedTables).join(", ");
  throw new OperatingError(
    "bad_request",
    "never",
    table === undefined
      ? "table: or select is needed"
      : `table: ${JSON.stringify(table)} cannot be watched`,
    { hint: `These can: ${known}.` },
  );
}
