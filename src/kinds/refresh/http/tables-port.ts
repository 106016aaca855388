/** Tables for the HTTP surface: read from the store, changed by running the SQL statements. */

import { readLakeOverview } from "../../../data/lake/index.ts";
import { quoteName } from "../../../data/sql/core/index.ts";
import type { QueriesPort } from "../../../data/statements/index.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { Store, Tx } from "../../../ground/store/index.ts";
import { lagOverTime } from "../core/index.ts";
import { readOverview } from "../store/overview.ts";
import { historyRowsDefault, readNowMs, readRefreshHistory } from "../store/refresh-history.ts";
import { lagBody, refreshBody, type TablesView, viewOf } from "./table-bodies.ts";
import type {
  DynamicTableBody,
  DynamicTableDetailBody,
  LagBody,
  RefreshBody,
  TableBody,
} from "./table-schemas.ts";

export type TableVerb = "refresh" | "refreshed" | "suspend" | "resume" | "drop";

/** An answer is undefined when no table has that name. */
export interface TablesPort {
  list(): Promise<{ readonly snapshot: number; readonly items: readonly TableBody[] }>;
  listDynamic(): Promise<{ readonly nowMs: number; readonly items: readonly DynamicTableBody[] }>;
  getDynamic(name: string): Promise<DynamicTableDetailBody | undefined>;
  /** The newest first. With `before`, only refreshes with lower numbers. */
  history(
    name: string,
    page: { readonly limit: number; readonly before: number | undefined },
  ): Promise<readonly RefreshBody[] | undefined>;
  lag(name: string, windowMs: number): Promise<LagBody | undefined>;
  /** False without such a dynamic table. `refreshed`: the answer waits for the refresh. */
  change(
    name: string,
    verb: TableVerb,
    options: { readonly queryId: QueryId; readonly timeoutMs: number | undefined },
    signal: AbortSignal,
  ): Promise<boolean>;
  preview(
    name: string,
    options: { readonly limit: number; readonly queryId: QueryId },
    signal: AbortSignal,
  ): Promise<{ readonly stream: AsyncIterable<Uint8Array> } | undefined>;
}

interface TableWords {
  readonly schema: string;
  readonly name: string;
}

const statementOf = {
  refresh: (table: string) => `REFRESH DYNAMIC TABLE ${table}`,
  refreshed: (table: string) => `REFRESH DYNAMIC TABLE ${table} WAIT`,
  suspend: (table: string) => `ALTER DYNAMIC TABLE ${table} SUSPEND`,
  resume: (table: string) => `ALTER DYNAMIC TABLE ${table} RESUME`,
  drop: (table: string) => `DROP DYNAMIC TABLE ${table}`,
} as const;

export function createTablesPort(store: Store, queries: QueriesPort): TablesPort {
  const read = async (): Promise<TablesView> => await store.read(readView);
  return {
    async list() {
      const { snapshot, tables } = await read();
      return { snapshot, items: tables };
    },
    async listDynamic() {
      const { nowMs, dynamicTables } = await read();
      return { nowMs, items: dynamicTables.map(({ body }) => body) };
    },
    async getDynamic(name) {
      const { nowMs, tables, dynamicTables } = await read();
      const found = dynamicTables.find(({ body }) => body.name === name);
      if (found === undefined) return undefined;
      const table = tables.find(({ table_id }) => table_id === found.body.table_id) ?? null;
      return { ...found.body, now_ms: nowMs, definition: found.overview.definition, table };
    },
    async history(name, { limit, before }) {
      const { dynamicTables } = await read();
      if (!dynamicTables.some(({ body }) => body.name === name)) return undefined;
      const request = { dynamicTable: name, limit, before };
      return (await store.read((tx) => readRefreshHistory(tx, request))).map(refreshBody);
    },
    async lag(name, windowMs) {
      const { nowMs, dynamicTables } = await read();
      const found = dynamicTables.find(({ body }) => body.name === name);
      if (found === undefined) return undefined;
      const request = { dynamicTable: name, limit: historyRowsDefault };
      const records = await store.read((tx) => readRefreshHistory(tx, request));
      const window = { fromMs: nowMs - windowMs, toMs: nowMs };
      return lagBody(found.overview, lagOverTime(records.toReversed(), window), window);
    },
    async change(name, verb, options, signal) {
      const found = (await read()).dynamicTables.find(({ body }) => body.name === name);
      if (found === undefined) return false;
      const statement = statementOf[verb](wordsOf(found.overview));
      const { stream } = await queries.sql(
        statement,
        { ...asked, ...options, mayWrite: true },
        signal,
      );
      for await (const _bytes of stream); // The statement is done when its answer ends.
      return true;
    },
    async preview(name, { limit, queryId }, signal) {
      const found = (await read()).words.get(name);
      if (found === undefined) return undefined;
      const options = { ...asked, queryId, mayWrite: false };
      const statement = `SELECT * FROM ${wordsOf(found)} LIMIT ${limit}`;
      return await queries.sql(statement, options, signal);
    },
  };
}

async function readView(tx: Tx): Promise<TablesView> {
  const nowMs = await readNowMs(tx);
  return viewOf(nowMs, await readLakeOverview(tx), await readOverview(tx));
}

const asked = { timeoutMs: undefined, traceparent: undefined, uploadId: undefined };

function wordsOf({ schema, name }: TableWords): string {
  return `${quoteName(schema)}.${quoteName(name)}`;
}
