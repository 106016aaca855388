/**
 * A table of the lake in memory, for lookup joins: its newest version, loaded anew when a snapshot
 * changes it. While the next version is loaded both count as memory of the query. A join sees the
 * version that is there when a row arrives; which one is no part of a checkpoint. Rule: SU48.
 */
import type { TableVersion } from "../../../../data/lake/index.ts";
import { sleep } from "../../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import {
  allRows,
  type LookupVersion,
  type MemoryAccount,
  RowStore,
} from "../../engine/core/index.ts";
import { DialectError, type Schema } from "../../language/core/index.ts";
import type { OpenedTable } from "../core/connectors.ts";
import { openCsvRows } from "./csv-rows.ts";
import type { FragmentLake } from "./fragment-lake.ts";

export interface LookupTableOptions {
  readonly table: string;
  readonly columns: Schema;
  readonly lake: FragmentLake;
  readonly memory: MemoryAccount;
}

const pollMs = 1_000;

export async function openLookupTable(options: LookupTableOptions): Promise<OpenedTable> {
  const closed = new AbortController();
  const loader = new TableLoader(options, closed.signal);
  const table: { version: LookupVersion } = { version: await loader.load() };
  const ended = follow(loader, options.lake, closed.signal, (version) => {
    table.version = version;
  });
  ended.catch(() => undefined); // Whoever waits for it is told.
  return {
    table,
    ended,
    close: async () => {
      closed.abort();
      await ended.catch(() => undefined);
    },
  };
}

async function follow(
  loader: TableLoader,
  { clock }: FragmentLake,
  signal: AbortSignal,
  renew: (version: LookupVersion) => void,
): Promise<void> {
  for (;;) {
    await sleep(clock, pollMs, signal);
    if (signal.aborted) return;
    try {
      const version = await loader.loadChanged();
      if (version !== undefined) renew(version);
    } catch (thrown) {
      if (signal.aborted) return;
      // The version at hand goes on to be used while the store is away.
      if (!(thrown instanceof OperatingError) || thrown.retry === "never") throw thrown;
    }
  }
}

class TableLoader {
  readonly #options: LookupTableOptions;
  readonly #signal: AbortSignal;
  /** Which files the version at hand is made of. */
  #files = "";
  #snapshot = -1;
  #bytes = 0;

  constructor(options: LookupTableOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async load(): Promise<LookupVersion> {
    const version = await this.loadChanged();
    assert(version !== undefined, "a table that was never loaded has changed");
    return version;
  }

  /** `undefined` where the table is as it was. */
  async loadChanged(): Promise<LookupVersion | undefined> {
    const { calls } = this.#options.lake;
    const snapshot = await calls.lakeSnapshot(undefined);
    if (snapshot === this.#snapshot) return undefined;
    const version = await calls.lakeTable(this.#options.table);
    const files = filesOf(version);
    const rows = files === this.#files ? undefined : await this.#read(version);
    this.#snapshot = version.snapshot;
    this.#files = files;
    return rows;
  }

  async #read(version: TableVersion): Promise<LookupVersion> {
    const { lake, columns: schema } = this.#options;
    const spooled = await lake.calls.lakeSpoolTable({ version, schema }, this.#signal);
    const rows = await openCsvRows(spooled, schema);
    const store = new RowStore(schema.map(({ type }) => type));
    try {
      for (let next = await rows.next(); next !== undefined; next = await rows.next()) {
        store.append(next.views, allRows(next.rowCount));
        this.#account(store.bytes);
      }
    } finally {
      await rows.close();
    }
    this.#bytes = store.bytes;
    this.#options.memory.set(this.#bytes);
    return { rowCount: store.rowCount, columns: store.columns(0, store.rowCount) };
  }

  /** The version at hand stays until the next one is there. */
  #account(loadedBytes: number): void {
    try {
      this.#options.memory.set(this.#bytes + loadedBytes);
    } catch (thrown) {
      if (!(thrown instanceof DialectError)) throw thrown;
      const { number, message } = thrown;
      throw new DialectError(
        number,
        `the table ${this.#options.table} does not fit into memory: ${message}`,
        { hint: 'Join with a smaller table, or raise "QUERY".MEMORY_LIMIT.' },
      );
    }
  }
}

function filesOf({ table, files }: TableVersion): string {
  const parts = files.map(({ fileId, deletes }) => `${fileId}/${deletes?.fileId ?? ""}`);
  return [table.tableId, table.schemaSnapshot, ...parts].join();
}
