/** The engine's own process: DuckDB, and everything that its results cost (kernel/node/host-process.ts). */
import { join } from "node:path";
import { type Hosted, hostProcess } from "../../ground/kernel/node/host-process.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { withoutPaths } from "../../ground/kernel/without-paths.ts";
import { ArtifactReader } from "./artifact-reader.ts";
import { isFatal } from "./duckdb-error.ts";
import { type EngineInstance, openInstance } from "./engine-instance.ts";
import type { EngineAnswer, EngineRequest, InstanceOptions, RowPage } from "./engine-messages.ts";
import { LaneSessions } from "./lane-sessions.ts";
import { StatementPool } from "./statement-pool.ts";
import { parseStatement, writeArtifact } from "./write-artifact.ts";

/** Readers that are kept open; others are opened anew at their place. */
const readersMax = 256;

class EngineService implements Hosted<EngineRequest, EngineAnswer> {
  readonly #instance: EngineInstance;
  readonly #pool: StatementPool;
  readonly #sessions: LaneSessions;
  readonly #options: InstanceOptions;
  readonly #readers = new Map<number, ArtifactReader>();

  constructor(instance: EngineInstance, options: InstanceOptions) {
    this.#instance = instance;
    this.#options = options;
    this.#pool = new StatementPool(instance.lanes, options.queueMax, realClock);
    this.#sessions = new LaneSessions(this.#pool, realClock);
  }

  perform(request: EngineRequest, signal: AbortSignal, began: () => void): Promise<EngineAnswer> {
    switch (request.kind) {
      case "execute":
        return this.#pool.run((lane) => {
          began();
          return writeArtifact(lane, request, realClock);
        }, signal);
      case "parse":
        return this.#pool.run((lane) => {
          began();
          return parseStatement(lane, request.sql);
        }, signal);
      case "openSession":
        return this.#sessions
          .open(request.relations, signal, began)
          .then((session) => ({ session }));
      case "runInSession":
        return this.#sessions.run(request.session, request.sql, signal);
      case "closeSession":
        return this.#sessions.close(request.session).then(() => "closed");
      case "readPage":
        return this.#readPage(request, signal, began);
    }
  }

  endSessions(): Promise<void> {
    return this.#sessions.closeAll();
  }

  close(): void {
    this.#instance.close();
  }

  #readPage(
    { path, reader: id, cursor }: Extract<EngineRequest, { kind: "readPage" }>,
    signal: AbortSignal,
    began: () => void,
  ): Promise<RowPage> {
    return this.#pool.run(async (lane) => {
      began();
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
    }, signal);
  }

  #keep(id: number, reader: ArtifactReader): void {
    this.#readers.set(id, reader);
    const [oldest] = this.#readers.keys();
    if (this.#readers.size > readersMax && oldest !== undefined) this.#readers.delete(oldest);
  }
}

hostProcess<InstanceOptions, EngineRequest, EngineAnswer>(
  async (options) => new EngineService(await openInstance(options), options),
  { isFatal, shown: withoutPaths }, // No message shows our files' names.
);
