/**
 * DuckDB for this process, in processes of its own beneath it (engine-processes.ts).
 *
 *   EN1  Nothing is computed in the caller's process: it sends a request and receives an answer.
 *   EN2  An aborted request ends only when DuckDB has stopped, and leaves no file. What does not
 *        stop costs its process.
 *   EN3  A person's statement is one SELECT that reads no file and changes nothing (check-user-sql.ts); DuckDB itself may
 *        touch only `spoolDir` and its temporary directory, and installs and loads no extension.
 *   EN4  The engine's process has a bound on its memory that DuckDB does not keep: the kernel and
 *        this process do.
 *   EN5  Relations are those of one statement: no other statement sees them, and nothing of them stays.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import type { HealthReporter } from "../../ground/kernel/health.ts";
import type { LogFields, Logger } from "../../ground/kernel/logger.ts";
import { siblingModule } from "../../ground/kernel/node/sibling-module.ts";
import { canBoundMemory } from "../../ground/threads/index.ts";
import type { ProducedFile } from "../../ground/work/core/index.ts";
import {
  duckdbBytesOf,
  type EngineObserver,
  kernelBytesOf,
  rowBytesOf,
  silentEngineObserver,
} from "./core/index.ts";
import type { ColumnHeader, InstanceOptions, Relation } from "./engine-messages.ts";
import { EngineProcesses } from "./engine-processes.ts";
import { ProcessEngine } from "./process-engine.ts";
import { spawnEngine } from "./spawn-engine.ts";

export interface EngineOptions {
  /** The engine's share of that: of one process, DuckDB and all. */
  readonly memoryLimitBytes: number;
  /** Of this process and all that descend from it. */
  readonly treeLimitBytes: number;
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
  /** The process ends when nobody needed it for so long. */
  readonly idleMs?: number;
  readonly observer?: EngineObserver;
  /** Told when its process does not start, and when it does again. */
  readonly health?: HealthReporter;
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
}

export interface Engine {
  /**
   * The same engine; log lines about what is asked of it this way carry `fields`: whose statement
   * it is.
   */
  with(fields: LogFields): Engine;
  /**
   * Runs one SELECT into a Parquet file of at most `bytesMax` bytes. The only tables that it knows are `relations`. Throws
   * `bad_sql`, `query_too_large` (its result), `statement_too_large` (its memory), `disk_full`,
   * `overloaded`, or `cancelled` when `signal` aborts; then there is no file.
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
   * `executeToParquet`'s checks. It waits its turn like a statement, and keeps the connection until
   * `use` has settled; then its tables are gone. `use` may be called again, from its beginning: it
   * leaves nothing behind that a second call minds, and asks the engine for nothing but by its
   * session.
   */
  withSession<T>(
    relations: readonly Relation[],
    signal: AbortSignal,
    use: (session: EngineSession) => Promise<T>,
  ): Promise<T>;
  /** Interrupts what runs, and ends what does not stop soon. */
  close(): Promise<void>;
}

/** What of the engine somebody needs, in the name of whoever asked for it. */
export interface EngineFor<K extends keyof Engine> {
  with(fields: LogFields): Pick<Engine, K>;
}

const queueMaxDefault = 256;
const tempBytesMaxDefault = 10 * 1024 ** 3;

const idleMsDefault = 60_000;
/** What an earlier run left: by name, because the directory may be anybody's. */
const leftoverPattern = /^(process-\d+|page-\d+\.ndjson|duckdb_temp_.*)$/;

/** Its process starts with the first request. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { memoryLimitBytes, threads, spoolDir, connections } = options;
  const instance: InstanceOptions = {
    memoryLimitBytes: duckdbBytesOf(memoryLimitBytes),
    threads,
    spoolDir,
    connections,
    tempDir: options.tempDir ?? join(spoolDir, "temp"),
    tempBytesMax: options.tempBytesMax ?? tempBytesMaxDefault,
    queueMax: options.queueMax ?? queueMaxDefault,
    rowBytesMax: rowBytesOf(memoryLimitBytes),
    readableDirs: options.readableDirs ?? [],
  };
  makeDirs(instance);
  const limits = { engineBytesMax: memoryLimitBytes, treeBytesMax: options.treeLimitBytes };
  const processes = new EngineProcesses({
    instance,
    ...limits,
    idleMs: options.idleMs ?? idleMsDefault,
    spawn: (wanted) =>
      spawnEngine({
        module: siblingModule(import.meta.url, "./engine-process"),
        memoryBytesMax: kernelBytesOf(limits),
        connections,
        threads,
        bounded: wanted && canBoundMemory,
      }),
    clock: options.clock,
    logger: options.logger,
    observer: options.observer ?? silentEngineObserver,
    ...(options.health === undefined ? {} : { health: options.health }),
  });
  return new ProcessEngine(processes);
}

function makeDirs({ spoolDir, tempDir }: InstanceOptions): void {
  try {
    mkdirSync(spoolDir, { recursive: true });
    mkdirSync(tempDir, { recursive: true });
    for (const name of readdirSync(tempDir)) {
      if (leftoverPattern.test(name)) rmSync(join(tempDir, name), { recursive: true, force: true });
    }
  } catch (thrown) {
    const message = `the engine has no directory to work in: ${messageOf(thrown)}`;
    throw new OperatingError("query_failed", "backoff", message, { cause: thrown });
  }
}
