/**
 * The engine's own thread. Parsing, DuckDB's results, hashing and JSON all happen here, so that the thread of the
 * control sessions never computes.
 */
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { ArtifactReader } from "./artifact-reader.ts";
import { isFatal } from "./duckdb-error.ts";
import { openInstance } from "./engine-instance.ts";
import {
  dataOfError,
  type EngineAnswer,
  type EngineRequest,
  type EngineThreadOptions,
  type FromEngine,
  type OpenedRows,
  type RowPage,
  type ToEngine,
} from "./engine-messages.ts";
import { checksumOfFile } from "./file-checksum.ts";
import { LaneSessions } from "./lane-sessions.ts";
import { StatementPool } from "./statement-pool.ts";
import { parseStatement, writeArtifact } from "./write-artifact.ts";

const port = parentPort;
assert(port !== null, "the engine runs in a thread of its own");
const options = workerData as EngineThreadOptions;
const instance = await openInstance(options);
const pool = new StatementPool(instance.lanes, options.queueMax, realClock);
const sessions = new LaneSessions(pool, realClock);
const aborts = new Map<number, AbortController>();
const readers = new Map<number, ArtifactReader>();
let closing: boolean = false;
let readerNext = 1;

port.on("message", (message: ToEngine) => {
  switch (message.kind) {
    case "request":
      void serve(message.id, message.request);
      break;
    case "abort":
      aborts.get(message.id)?.abort();
      break;
    case "closeReader":
      readers.delete(message.reader);
      break;
    case "close":
      closing = true;
      for (const abort of aborts.values()) abort.abort();
      void sessions.closeAll().then(closeWhenIdle, closeWhenIdle);
      break;
  }
});
post({ kind: "ready" });

async function serve(id: number, request: EngineRequest): Promise<void> {
  const abort = new AbortController();
  aborts.set(id, abort);
  try {
    const answer = await perform(request, abort.signal);
    post({ kind: "answer", id, answer }, buffersOf(answer));
  } catch (thrown) {
    if (isFatal(thrown)) post({ kind: "fatal", message: messageOf(thrown) });
    post({ kind: "error", id, error: dataOfError(thrown) });
  } finally {
    aborts.delete(id);
    closeWhenIdle();
  }
}

function perform(request: EngineRequest, signal: AbortSignal): Promise<EngineAnswer> {
  switch (request.kind) {
    case "execute":
      return pool.run((lane) => writeArtifact(lane, request, realClock), signal);
    case "parse":
      return pool.run((lane) => parseStatement(lane, request.sql), signal);
    case "openSession":
      return sessions.open(request.relations, signal).then((session) => ({ session }));
    case "runInSession":
      return sessions.run(request.session, request.sql, signal);
    case "closeSession":
      return sessions.close(request.session).then(() => "closed");
    case "openRows":
      return openRows(request.path, signal);
    case "nextPage":
      return nextPage(request.reader, signal);
    case "checksum":
      return checksumOfFile(request.path);
  }
}

/** With the first page, so that a small result costs one round trip. */
function openRows(path: string, signal: AbortSignal): Promise<OpenedRows> {
  return pool.run(async (lane) => {
    const reader = readerNext;
    readerNext += 1;
    const pagePath = join(options.tempDir, `page-${reader}.ndjson`);
    const opened = await ArtifactReader.open(lane, path, pagePath, realClock);
    const first = await opened.nextPage(lane);
    if (!first.last) readers.set(reader, opened);
    const columns = opened.columns.map(({ name, type }) => ({ name, type }));
    return { reader, columns, first };
  }, signal);
}

async function nextPage(id: number, signal: AbortSignal): Promise<RowPage> {
  const reader = readers.get(id);
  if (reader === undefined) throw new OperatingError("not_found", "never", `no reader ${id}`);
  const page = await pool.run((lane) => reader.nextPage(lane), signal);
  if (page.last) readers.delete(id);
  return page;
}

function closeWhenIdle(): void {
  if (!closing || aborts.size > 0 || sessions.size > 0) return;
  instance.close();
  port?.close();
}

function post(message: FromEngine, transfer: readonly ArrayBuffer[] = []): void {
  port?.postMessage(message, [...transfer]);
}

function buffersOf(answer: EngineAnswer): readonly ArrayBuffer[] {
  if (typeof answer === "string") return [];
  if ("session" in answer || "rows" in answer) return [];
  if ("first" in answer) return [answer.first.bytes.buffer];
  return "bytes" in answer ? [answer.bytes.buffer] : [];
}
