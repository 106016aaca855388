/**
 * The query of the SQL box. It is kept outside of the page, so that its result survives a visit to
 * another page.
 * There is one query at a time: `run` is refused while one runs. Cancelling closes the connection,
 * which the coordinator notices. Listeners are called at most ten times a second, however fast rows
 * arrive.
 */
import { createContext, useContext, useSyncExternalStore } from "react";
import { ApiError, request } from "./http.ts";
import { type Cell, type Column, type SqlFailure, SqlResultReader } from "./sql-result.ts";

export interface SqlRun {
  readonly status: "idle" | "running" | "done" | "failed" | "cancelled";
  readonly queryId: string | undefined;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  readonly rowCount: number;
  readonly durationMs: number;
  readonly workerId: string | undefined;
  readonly failure: SqlFailure | undefined;
}

const idle: SqlRun = {
  status: "idle",
  queryId: undefined,
  columns: [],
  rows: [],
  rowCount: 0,
  durationMs: 0,
  workerId: undefined,
  failure: undefined,
};
const progressMs = 100;

export class SqlSession {
  /** The text in the box, kept for the same reason as the result. */
  #draft = "";
  #run = idle;
  #abort: AbortController | undefined;
  #listeners = new Set<() => void>();
  readonly #onUnauthenticated: () => void;

  constructor(onUnauthenticated: () => void) {
    this.#onUnauthenticated = onUnauthenticated;
  }

  readonly current = (): SqlRun => this.#run;

  readonly draft = (): string => this.#draft;

  setDraft(sql: string): void {
    this.#draft = sql;
    this.#notify();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Never rejects: the run has the error. */
  async run(sql: string): Promise<void> {
    if (this.#run.status === "running") return;
    const abort = new AbortController();
    this.#abort = abort;
    const startedMs = performance.now();
    const reader = new SqlResultReader();
    const publish = (status: SqlRun["status"], failure?: SqlFailure): void =>
      this.#publish({
        status,
        queryId: reader.queryId,
        columns: reader.columns,
        rows: [...reader.rows],
        rowCount: reader.rowCount,
        durationMs: performance.now() - startedMs,
        workerId: reader.summary?.worker_id ?? undefined,
        failure,
      });
    // The query may also be cancelled elsewhere: in the table of queries, or from a terminal.
    const publishFailure = (failure: SqlFailure): void =>
      failure.code === "cancelled" ? publish("cancelled") : publish("failed", failure);
    const progress = setInterval(() => publish("running"), progressMs);
    publish("running");
    try {
      await read(sql, reader, abort.signal);
      if (reader.failure === undefined) publish("done");
      else publishFailure(reader.failure);
    } catch (error) {
      if (abort.signal.aborted) publish("cancelled");
      else publishFailure(this.#failureOf(error));
    } finally {
      clearInterval(progress);
    }
  }

  cancel(): void {
    this.#abort?.abort();
  }

  #failureOf(error: unknown): SqlFailure {
    if (!(error instanceof ApiError)) {
      return { code: "connection_lost", message: "The connection was lost while rows arrived." };
    }
    if (error.status === 401) this.#onUnauthenticated();
    return { code: error.code, message: error.message, hint: error.hint, ...error.place };
  }

  #publish(run: SqlRun): void {
    this.#run = run;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

async function read(sql: string, reader: SqlResultReader, signal: AbortSignal): Promise<void> {
  const response = await request("/api/v1/sql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
    signal,
  });
  const text = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const chunk = await text?.read();
    if (chunk === undefined || chunk.done) break;
    reader.push(chunk.value);
  }
  reader.end();
}

/** The statement editor of streams has a session of its own. */
export const StreamSessionContext = createContext<SqlSession | undefined>(undefined);

export const SqlSessionContext = createContext<SqlSession | undefined>(undefined);

export function useSqlSession(): SqlSession {
  const session = useContext(SqlSessionContext);
  if (session === undefined) throw new Error("useSqlSession is called outside of its context");
  return session;
}

export function useSqlRun(): SqlRun {
  const session = useSqlSession();
  return useSyncExternalStore(session.subscribe, session.current);
}

export function useSqlDraft(): string {
  const session = useSqlSession();
  return useSyncExternalStore(session.subscribe, session.draft);
}
