/**
 * DuckDB for this process, in child processes (engine-processes.ts). The caller's process computes
 * nothing. An aborted request ends only when DuckDB has stopped, and leaves no file. DuckDB may
 * touch only `spoolDir`, its temporary directory and `readableDirs`, and loads no extension. Rules:
 * QU40 to QU48 and QE1 to QE6.
 */

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import type { HealthReporter } from "../../ground/kernel/health.ts";
import type { LogFields, Logger } from "../../ground/kernel/logger.ts";
import { siblingModule } from "../../ground/kernel/node/sibling-module.ts";
import { duckdbBytesOf } from "../../ground/process/core/index.ts";
import { canBoundMemory } from "../../ground/threads/index.ts";
import type { ProducedFile } from "../../ground/work/core/index.ts";
import {
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
  /** The memory of one engine process, everything included. */
  readonly memoryLimitBytes: number;
  /** The memory of this process with all its descendants. */
  readonly treeLimitBytes: number;
  /** DuckDB's own threads, shared by all statements. */
  readonly threads: number;
  /** The directory that DuckDB writes results to. Created if absent. */
  readonly spoolDir: string;
  /** Concurrent statements; of the others `queueMax` wait. */
  readonly connections: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly queueMax?: number;
  /** Where DuckDB spills what exceeds its memory. Default: within `spoolDir`. */
  readonly tempDir?: string;
  readonly tempBytesMax?: number;
  /** Directories with files of relations. */
  readonly readableDirs?: readonly string[];
  /** The process ends when it was not needed for this long. */
  readonly idleMs?: number;
  readonly observer?: EngineObserver;
  /** Reports when the process does not start, and when it does again. */
  readonly health?: HealthReporter;
}

/** Rows of an artifact as NDJSON: a JSON array per line, whole lines in every chunk. */
export interface RowStream extends AsyncIterable<Uint8Array> {
  readonly columns: readonly ColumnHeader[];
  /** Whether all rows are in the first chunk. */
  readonly isWhole: boolean;
}

export interface EngineSession {
  /** One statement at a time. JSON values: BIGINT as text, MAP as a list of `{key, value}`. */
  run(sql: string, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
  /** Like `run`, with values by column name. */
  objects(sql: string, signal: AbortSignal): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface Engine {
  /** The same engine, whose log lines carry `fields`: whose statement it is. */
  with(fields: LogFields): Engine;
  /**
   * Runs one SELECT into a Parquet file of at most `bytesMax` bytes. It sees no tables but
   * `relations`. Throws `bad_sql`, `query_too_large` (its result), `statement_too_large` (its
   * memory), `disk_full`, `overloaded` or `cancelled`; then there is no file.
   */
  executeToParquet(
    sql: string,
    path: string,
    signal: AbortSignal,
    bytesMax?: number,
    relations?: readonly Relation[],
  ): Promise<ProducedFile>;
  /** The syntax tree from `json_serialize_sql`. Throws `bad_sql` if it may not run. */
  parse(sql: string, signal: AbortSignal): Promise<string>;
  /** Resolves when columns and first rows are known; reads on as it is pulled. One consumer. */
  openRows(path: string, signal: AbortSignal): Promise<RowStream>;
  /** The rows of `openRows` alone. */
  readRows(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * A connection for our own statements, which may do whatever DuckDB may; a user's text must be
   * checked by `parse` first. It waits its turn like a statement and is kept until `use` has
   * settled; then its tables are gone. `use` may be called again from its beginning, so it must be
   * repeatable, and must use the engine only through its session.
   */
  withSession<T>(
    relations: readonly Relation[],
    signal: AbortSignal,
    use: (session: EngineSession) => Promise<T>,
  ): Promise<T>;
  /** Interrupts what runs, and kills what does not stop soon. */
  close(): Promise<void>;
}

/** A part of the engine, used on behalf of a caller. */
export interface EngineFor<K extends keyof Engine> {
  with(fields: LogFields): Pick<Engine, K>;
}

const queueMaxDefault = 256;
const tempBytesMaxDefault = 10 * 1024 ** 3;

const idleMsDefault = 60_000;
/** Files that an earlier process left, by name, because the directory may be shared. */
const leftoverPattern = /^(process-\d+|page-\d+\.ndjson|duckdb_temp_.*)$/;

/** The engine's process starts with the first request. */
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
