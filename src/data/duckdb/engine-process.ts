/** The engine's own process: runs DuckDB and makes the results. */
import { join } from "node:path";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { withoutPaths } from "../../ground/kernel/without-paths.ts";
import { type Call, servePeer } from "../../ground/threads/index.ts";
import { ArtifactReader } from "./artifact-reader.ts";
import { isFatal } from "./duckdb-error.ts";
import { openInstance } from "./engine-instance.ts";
import type { EngineService, InstanceOptions, PageOrder, RowPage } from "./engine-messages.ts";
import { LaneSessions } from "./lane-sessions.ts";
import { type Lane, StatementPool } from "./statement-pool.ts";
import { parseStatement, writeArtifact } from "./write-artifact.ts";

/** The number of open readers; others are opened again at their position. */
const readersMax = 256;

class PageReaders {
  readonly #options: InstanceOptions;
  readonly #readers = new Map<number, ArtifactReader>();

  constructor(options: InstanceOptions) {
    this.#options = options;
  }

  async readPage(lane: Lane, { path, reader: id, cursor }: PageOrder): Promise<RowPage> {
    const { tempDir, rowBytesMax } = this.#options;
    const place = { pagePrefix: join(tempDir, `page-${id}`), rowBytesMax };
    const known = cursor === undefined ? undefined : this.#readers.get(id);
    const reader = known ?? (await ArtifactReader.open(lane, path, place, realClock));
    if (cursor !== undefined) reader.goTo(cursor);
    const { rows, last } = await reader.nextPage(lane);
    if (last) this.#readers.delete(id);
    else this.#keep(id, reader);
    const columns = reader.columns.map(({ name, type }) => ({ name, type }));
    return { columns, rows, next: last ? undefined : reader.cursor };
  }

  #keep(id: number, reader: ArtifactReader): void {
    this.#readers.set(id, reader);
    const [oldest] = this.#readers.keys();
    if (this.#readers.size > readersMax && oldest !== undefined) this.#readers.delete(oldest);
  }
}

/** Removes our files' names from messages. */
function failureOf(thrown: unknown): OperatingError {
  return new OperatingError("query_failed", "never", withoutPaths(messageOf(thrown)));
}

servePeer<EngineService, InstanceOptions>(
  async (options, owner) => {
    const instance = await openInstance(options);
    const pool = new StatementPool(instance.lanes, options.queueMax, realClock);
    const sessions = new LaneSessions(pool, realClock);
    const readers = new PageReaders(options);
    const guarded = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (thrown) {
        if (isFatal(thrown)) owner.broken(failureOf(thrown));
        throw thrown;
      }
    };
    const onLane = <T>(call: Call<"began">, work: (lane: Lane) => Promise<T>): Promise<T> =>
      guarded(
        pool.run((lane) => {
          call.progress("began");
          return work(lane);
        }, call.signal),
      );
    return {
      requests: {
        execute: (order, call) => onLane(call, (lane) => writeArtifact(lane, order, realClock)),
        parse: (sql, call) => onLane(call, (lane) => parseStatement(lane, sql)),
        openSession: (relations, call) =>
          guarded(sessions.open(relations, call.signal, () => call.progress("began"))),
        runInSession: ({ session, sql }, call) => guarded(sessions.run(session, sql, call.signal)),
        closeSession: (session) => guarded(sessions.close(session)),
        readPage: (order, call) => onLane(call, (lane) => readers.readPage(lane, order)),
      },
      notes: {},
      stopping: () => sessions.closeAll().catch(() => undefined),
      close: () => instance.close(),
    };
  },
  { translate: failureOf },
);
