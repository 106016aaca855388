/** The engine's interface: turns requests into orders for its processes (engine-processes.ts). */
import { rmSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import type { LogFields } from "../../ground/kernel/logger.ts";
import type { ProducedFile } from "../../ground/work/core/index.ts";
import type { Engine, EngineSession, RowStream } from "./engine.ts";
import { type EngineChild, type Job, ProcessLost } from "./engine-child.ts";
import type { Relation, RowCursor, RowPage } from "./engine-messages.ts";
import { closedError, type EngineProcesses, isSuspicious } from "./engine-processes.ts";
import type { SessionRows } from "./lane-sessions.ts";

export class ProcessEngine implements Engine {
  readonly #processes: EngineProcesses;
  readonly #fields: LogFields;

  constructor(processes: EngineProcesses, fields: LogFields = {}) {
    this.#processes = processes;
    this.#fields = fields;
  }

  with(fields: LogFields): Engine {
    return new ProcessEngine(this.#processes, { ...this.#fields, ...fields });
  }

  async executeToParquet(
    sql: string,
    path: string,
    signal: AbortSignal,
    bytesMax = Number.MAX_SAFE_INTEGER,
    relations: readonly Relation[] = [],
  ): Promise<ProducedFile> {
    const order = { sql, path, bytesMax, relations };
    return await this.#processes.run({
      signal,
      fields: this.#fields,
      perform: (child, job) => child.ask(job, "execute", order, signal),
      undo: () => rmSync(path, { force: true }),
    });
  }

  async parse(sql: string, signal: AbortSignal): Promise<string> {
    return await this.#processes.run({
      signal,
      fields: this.#fields,
      perform: (child, job) => child.ask(job, "parse", sql, signal),
    });
  }

  async withSession<T>(
    relations: readonly Relation[],
    signal: AbortSignal,
    use: (session: EngineSession) => Promise<T>,
  ): Promise<T> {
    return await this.#processes.run({
      signal,
      fields: this.#fields,
      perform: (child, job) => inSession(child, job, relations, signal, use),
    });
  }

  async openRows(path: string, signal: AbortSignal): Promise<RowStream> {
    const reader = this.#processes.newReader();
    const read = (cursor: RowCursor | undefined, stop: AbortSignal): Promise<ReadPage> =>
      this.#processes.run({
        signal: stop,
        fields: this.#fields,
        perform: async (child, job) =>
          await readPage(await child.ask(job, "readPage", { path, reader, cursor }, stop)),
      });
    const first = await read(undefined, signal);
    return {
      columns: first.columns,
      isWhole: first.next === undefined,
      [Symbol.asyncIterator]: () => pagesFrom(first, read, signal),
    };
  }

  async *readRows(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* await this.openRows(path, signal);
  }

  async close(): Promise<void> {
    await this.#processes.close();
  }
}

/** A lost session has failed, even if `use` caught the error and returned a result. */
async function inSession<T>(
  child: EngineChild,
  job: Job,
  relations: readonly Relation[],
  signal: AbortSignal,
  use: (session: EngineSession) => Promise<T>,
): Promise<T> {
  const session = await child.ask(job, "openSession", relations, signal);
  let trouble: Error | undefined;
  const run = async (sql: string, stop: AbortSignal): Promise<SessionRows> => {
    try {
      return await child.ask(job, "runInSession", { session, sql }, stop);
    } catch (thrown) {
      const isLost = thrown instanceof ProcessLost;
      if (isLost || isSuspicious(thrown)) trouble ??= thrown as Error;
      throw isLost && thrown.loss.kind === "closed" ? closedError() : thrown;
    }
  };
  const handle: EngineSession = {
    run: async (sql, stop) => (await run(sql, stop)).rows,
    objects: async (sql, stop) => {
      const { columns, rows } = await run(sql, stop);
      return rows.map((row) =>
        Object.fromEntries(columns.map((name, index) => [name, row[index]])),
      );
    },
  };
  const used = use(handle);
  try {
    await used;
  } catch {
    // Reported below.
  }
  const counts = trouble === undefined || (!(trouble instanceof ProcessLost) && !job.shared);
  if (!child.lost) await child.ask(job, "closeSession", session);
  if (!counts) throw trouble;
  return await used;
}

interface ReadPage {
  readonly columns: RowPage["columns"];
  readonly bytes: Uint8Array;
  readonly next: RowCursor | undefined;
}

async function readPage({ columns, rows, next }: RowPage): Promise<ReadPage> {
  if (rows instanceof Uint8Array) return { columns, bytes: rows, next };
  try {
    return { columns, bytes: await readFile(rows.file), next };
  } catch {
    // Its directory was deleted with its process.
    throw new ProcessLost({ kind: "closed", message: "a page of rows went with it" });
  } finally {
    await rm(rows.file, { force: true });
  }
}

/** Makes the next page while the caller uses this one. */
async function* pagesFrom(
  first: ReadPage,
  read: (cursor: RowCursor, signal: AbortSignal) => Promise<ReadPage>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const left = new AbortController();
  const stop = AbortSignal.any([signal, left.signal]);
  let page = first;
  try {
    for (;;) {
      const next = page.next === undefined ? undefined : read(page.next, stop);
      next?.catch(() => undefined); // Awaited below, unless the caller leaves.
      if (page.bytes.length > 0) yield page.bytes;
      if (next === undefined) return;
      page = await next;
    }
  } finally {
    left.abort();
  }
}
