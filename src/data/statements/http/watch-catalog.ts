/** Subscriptions to the catalog, with flags as the API shows them. */

import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Store } from "../../../ground/store/index.ts";
import {
  type WatchEvent,
  type WatchedTables,
  type WatchSelect,
  watch,
} from "../../../ground/store/index.ts";
import { parseWatch } from "../core/parse-watch.ts";
import type { WatchMessage, WatchRequest } from "./watch-messages.ts";

/** Throws before the stream begins if the request cannot be watched. */
export function watchCatalog(
  store: Store,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncIterable<WatchMessage> {
  const { fromRevision } = request;
  return asMessages(watch(store, { ...selectOf(store.watched, request), fromRevision, signal }));
}

async function* asMessages(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchMessage> {
  for await (const event of events) {
    if (event.type === "SNAPSHOT") yield { ...event, data: event.data.map(watchedRow) };
    else if (event.data === undefined) yield event;
    else yield { ...event, data: watchedRow(event.data) };
  }
}

function selectOf(
  watched: WatchedTables,
  { table, select }: WatchRequest,
): Pick<WatchSelect, "table"> {
  if (select !== undefined) return parseWatch(select, watched);
  if (table !== undefined && Object.hasOwn(watched, table)) return { table };
  const known = Object.keys(watched).join(", ");
  throw new OperatingError(
    "bad_request",
    "never",
    table === undefined
      ? "table: or select is needed"
      : `table: ${JSON.stringify(table)} cannot be watched`,
    { hint: `These can: ${known}.` },
  );
}

const flags = new Set(["drain_requested", "accepting_work", "draining"]);

/** Converts flags of workers for the API. A subscription may have only some of the columns. */
function watchedRow(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, flags.has(column) ? value === 1 : value]),
  );
}
