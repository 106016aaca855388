/**
 * DuckDB for this process, in a thread of its own. There is one instance a process: its memory limit and its threads
 * are the process's.
 *
 *   EN1  Nothing is computed on the caller's thread: it sends a request and receives an answer.
 *   EN2  An aborted request ends only when DuckDB has stopped, and leaves no file.
 *   EN3  A person's statement is one SELECT that reads no file and changes nothing (check-user-sql.ts); DuckDB itself may
 *        touch only `spoolDir` and its temporary directory, and installs and loads no extension.
 *   EN5  Relations are those of one statement: no other statement sees them, and nothing of them stays.
 *   EN4  When the thread dies, every request fails, and `failure` resolves: the process should end and be restarted.
 *
 * DuckDB's asynchronous calls each occupy one of libuv's threads while a statement runs, and a process has only four of
 * them unless UV_THREADPOOL_SIZE says otherwise before it starts: with fewer than `uvThreadsNeeded`, long statements
 * would stall file access and name resolution of the whole process.
 *
 * What DuckDB does not promise: its memory limit covers its tables and operators, not one enormous value
 * (`repeat('x', 1e9)`), and a single such value cannot be interrupted while it is being made.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../kernel/clock.ts";
import type { OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { ProducedFile } from "../core/index.ts";
import type { ColumnHeader, EngineThreadOptions, Relation } from "./engine-messages.ts";
import { ThreadEngine } from "./thread-engine.ts";

export interface EngineOptions {
  readonly memoryLimitBytes: number;
  /** DuckDB's own threads, shared by all statements. */
  readonly threads: number;
  /** Besides `tempDir` the only directory that DuckDB reads and writes. Made when it is absent. */
  readonly spoolDir: string;
  /** Statements at a time; of the others `queueMax` wait. */
  readonly connections: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly queueMax?: number;
  /** Where DuckDB spills what exceeds its memory; within `spoolDir` when absent. */
  readonly tempDir?: string;
  readonly tempBytesMax?: number;
  /** Where relations' files may be. */
  readonly readableDirs?: readonly string[];
}

/** Rows of an artifact as NDJSON: a JSON array a line, every line ended, whole lines in every chunk. */
export interface RowStream extends AsyncIterable<Uint8Array> {
  readonly columns: readonly ColumnHeader[];
  /** All rows are in the first chunk. */
  readonly isWhole: boolean;
}

export interface EngineSession {
  /** One at a time. Values as DuckDB's client has them in JSON: BIGINT a text, MAP a list of `{key, value}`. */
  run(sql: string, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
  /** The same, values by the names of their columns. */
  objects(sql: string, signal: AbortSignal): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Its tables are gone. Idempotent. */
  close(): Promise<void>;
}

export interface Engine {
  /**
   * Runs one SELECT into a Parquet file of at most `bytesMax` bytes. The only tables that it knows are `relations`. Throws
   * `bad_sql`, `query_too_large`, `disk_full`, `overloaded`, or `cancelled` when `signal` aborts; then there is no file.
   */
  executeToParquet(
    sql: string,
    path: string,
    signal: AbortSignal,
    bytesMax?: number,
    relations?: readonly Relation[],
  ): Promise<ProducedFile>;
  /** A SELECT's syntax tree, as `json_serialize_sql` gives it. Throws `bad_sql` for what `executeToParquet` would refuse unseen. */
  parse(sql: string, signal: AbortSignal): Promise<string>;
  /** Resolves when columns and first rows are known; reads on as it is pulled. One consumer. */
  openRows(path: string, signal: AbortSignal): Promise<RowStream>;
  /** The rows of `openRows` alone. */
  readRows(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * A connection for statements of our own, which may do whatever DuckDB may; a person's text belongs into them only after
   * `executeToParquet`'s checks. It waits its turn like a statement, and keeps the connection until it is closed.
   */
  openSession(relations: readonly Relation[], signal: AbortSignal): Promise<EngineSession>;
  /** `sha256:` and hexadecimal digits. */
  checksum(path: string): Promise<string>;
  /** Resolves if the engine breaks; never when it is closed. */
  readonly failure: Promise<OperatingError>;
  /** Interrupts what runs, and waits for it, but not for ever. */
  close(): Promise<void>;
  /**
   * After `close`: DuckDB is still computing something that cannot be interrupted. The process would end only after it,
   * so one that has to end now has to kill itself.
   */
  readonly stuck: boolean;
}

const queueMaxDefault = 256;
const tempBytesMaxDefault = 10 * 1024 ** 3;

/** The least that UV_THREADPOOL_SIZE should be: a thread for every statement, and the usual four. */
function uvThreadsNeeded(connections: number): number {
  return connections + 4;
}

export async function startEngine(options: EngineOptions): Promise<Engine> {
  warnOfFewThreads(options);
  const { memoryLimitBytes, threads, spoolDir, connections } = options;
  const workerData: EngineThreadOptions = {
    memoryLimitBytes,
    threads,
    spoolDir,
    connections,
    tempDir: options.tempDir ?? join(spoolDir, "temp"),
    tempBytesMax: options.tempBytesMax ?? tempBytesMaxDefault,
    queueMax: options.queueMax ?? queueMaxDefault,
    readableDirs: options.readableDirs ?? [],
  };
  const thread = new Worker(siblingModule(import.meta.url, "./engine-thread"), { workerData });
  const engine = new ThreadEngine(thread, options.clock, options.logger);
  await engine.ready;
  return engine;
}

function warnOfFewThreads({ connections, logger }: EngineOptions): void {
  const needed = uvThreadsNeeded(connections);
  const given = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  if (given >= needed) return;
  const fields = { uv_threads: given, uv_threads_needed: needed };
  logger.warn(
    fields,
    "UV_THREADPOOL_SIZE is small: long statements may stall this process's files",
  );
}
