/**
 * Runs one SQL statement: a work item on some worker, its artifact fetched and verified, its rows
 * read. The answer is NDJSON:
 *
 *   {"query_id":"q-…","columns":[{"name":"answer","type":"INTEGER"}]}
 *   [42]
 *   {"summary":{"row_count":1,"duration_ms":7,"worker_id":"worker-1","artifact_bytes":245}}
 *
 * If it fails after the first line, the last line is `{"error":{"code":…,"message":…,"hint":…}}`.
 */
import type { Clock, Timer } from "../../ground/kernel/clock.ts";
import {
  AssertionError,
  assert,
  detailsOf,
  messageOf,
  OperatingError,
} from "../../ground/kernel/errors.ts";
import type { LeafId, QueryId, WorkId } from "../../ground/kernel/ids.ts";
import { newQueryId } from "../../ground/kernel/new-query-id.ts";
import type { Prng } from "../../ground/kernel/prng.ts";
import type { ApiWorkManager, LocalArtifact, QueryHandle } from "../../ground/work/core/index.ts";
import type { EngineFor, RowStream } from "./engine.ts";
import { sqlWorkBody, sqlWorkKind } from "./sql-executor.ts";

export interface RunSqlDeps {
  readonly manager: Pick<ApiWorkManager, "open" | "get">;
  readonly engine: EngineFor<"openRows">;
  readonly clock: Clock;
  readonly prng: Prng;
}

export interface RunSqlOptions {
  /** The time until the first row. */
  readonly timeoutMs?: number | undefined;
  readonly queryId?: QueryId;
  /** A caller that requests no rows for this long loses the rest. */
  readonly idleMsMax?: number;
}

export interface SqlResult {
  readonly queryId: QueryId;
  /** One consumer. The query ends when this ends, fails, is left, or is idle for too long. */
  readonly stream: AsyncIterable<Uint8Array>;
}

const timeoutMsDefault = 60_000;
const idleMsMaxDefault = 300_000;
const onlyLeaf = "0" as LeafId;
const onlyWork = "0" as WorkId;

/** Runs a statement that reads no table. */
export function runSql(
  deps: RunSqlDeps,
  sql: string,
  options: RunSqlOptions,
  signal: AbortSignal,
): Promise<SqlResult> {
  return runRows(deps, { kind: sqlWorkKind, body: sqlWorkBody(sql), text: sql }, options, signal);
}

/** A work item whose artifact has the answer's rows. */
export interface RowsWork {
  readonly kind: string;
  readonly body: string;
  /** For messages. */
  readonly text: string;
  /** What a worker may have cached. Absent for work that reads nothing, which is spread evenly. */
  readonly affinityKey?: string;
}

/** Resolves when the first row is known. Earlier failures are thrown. */
export async function runRows(
  { manager, engine, clock, prng }: RunSqlDeps,
  { kind, body, text, affinityKey }: RowsWork,
  options: RunSqlOptions,
  signal: AbortSignal,
): Promise<SqlResult> {
  const queryId = options.queryId ?? newQueryId(prng);
  const startedMs = clock.nowMs();
  const work = {
    queryId,
    leafId: onlyLeaf,
    workId: onlyWork,
    kind,
    body,
    affinityKey: affinityKey ?? queryId,
  };
  const deadlineMs = options.timeoutMs ?? timeoutMsDefault;
  const handle = manager.open({ queryId, works: [work], deadlineMs, text }, signal);
  const [artifact] = await handle.artifacts;
  assert(artifact !== undefined, "one work, one artifact");
  let rows: RowStream;
  try {
    const path = await artifact.file();
    rows = await engine.with({ query_id: queryId }).openRows(path, handle.signal);
  } catch (thrown) {
    const error = errorOf(thrown, handle);
    handle.finish(error);
    await artifact.dispose();
    throw error;
  }
  const stream = new SqlAnswer({
    handle,
    artifact,
    rows,
    clock,
    idleMsMax: options.idleMsMax ?? idleMsMaxDefault,
    summary: () => ({
      row_count: artifact.artifact.rowCount,
      duration_ms: Math.round((clock.nowMs() - startedMs) * 1_000) / 1_000,
      worker_id: manager.get(queryId)?.workerId ?? null,
      artifact_bytes: artifact.artifact.sizeBytes,
    }),
  });
  return { queryId, stream };
}

interface AnswerParts {
  readonly handle: QueryHandle;
  readonly artifact: LocalArtifact;
  readonly rows: RowStream;
  readonly clock: Clock;
  readonly idleMsMax: number;
  readonly summary: () => unknown;
}

/**
 * The answer's lines. Small answers come as one chunk. The artifact is deleted and the query ended
 * exactly once, even if nobody requests the first chunk.
 */
class SqlAnswer implements AsyncIterable<Uint8Array> {
  readonly #parts: AnswerParts;
  #idle: Timer | undefined;
  #ended: Promise<void> | undefined;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
    this.#waitForCaller();
    const { signal } = parts.handle;
    signal.addEventListener("abort", () => void this.#end(undefined), { once: true });
    if (signal.aborted) void this.#end(undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { handle, rows, summary } = this.#parts;
    const { queryId } = handle;
    let pending: Uint8Array = line({ query_id: queryId, columns: rows.columns });
    try {
      this.#idle?.cancel();
      for await (const chunk of rows) {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        if (rows.isWhole) continue;
        this.#waitForCaller();
        yield pending;
        this.#idle?.cancel();
        pending = empty;
      }
      if (handle.signal.aborted) throw handle.signal.reason;
      pending = Buffer.concat([pending, line({ summary: summary() })]);
      await this.#end(undefined);
    } catch (thrown) {
      const error = errorOf(thrown, handle);
      await this.#end(error);
      const { code, message } = error;
      const told = { code, message, ...detailsOf(error) };
      pending = Buffer.concat([pending, line({ error: told })]);
    } finally {
      await this.#end(new OperatingError("cancelled", "never", "its reader left"));
    }
    yield pending;
  }

  /** Starts when a chunk is handed out, and ends when the caller comes back. */
  #waitForCaller(): void {
    const { clock, idleMsMax } = this.#parts;
    this.#idle = clock.after(idleMsMax, () => {
      const message = `the rows were not read for ${idleMsMax} ms`;
      void this.#end(new OperatingError("deadline_exceeded", "never", message));
    });
  }

  /** Never rejects: the fetcher deletes what remains when it closes. */
  #end(error: OperatingError | undefined): Promise<void> {
    this.#ended ??= this.#release(error);
    return this.#ended;
  }

  async #release(error: OperatingError | undefined): Promise<void> {
    this.#idle?.cancel();
    this.#parts.handle.finish(error);
    await this.#parts.artifact.dispose().catch(() => undefined);
  }
}

const empty = new Uint8Array(0);

function line(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** A stopped reader does not know the reason; the query does. */
function errorOf(thrown: unknown, { signal }: QueryHandle): OperatingError {
  if (signal.reason instanceof OperatingError) return signal.reason;
  if (thrown instanceof OperatingError) return thrown;
  if (thrown instanceof AssertionError) throw thrown;
  return new OperatingError("query_failed", "never", messageOf(thrown));
}
