/**
 * Running imports, each a stream of chunks that a client sends one request at a time.
 * Chunks are taken in order and once: a repeated chunk, whose answer was lost, is answered again,
 * and a gap is refused. A chunk is answered when the import has read it. At most `waitingMax`
 * requests wait meanwhile, so that a client cannot fill the memory. A session without a request for
 * `idleMsMax` is dropped completely. At most `sessionsMax` sessions exist at a time.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import type {
  ImportOptions,
  ImportProgress,
  ImportResult,
  IngestService,
} from "../metrics/index.ts";

const idleMsMax = 300_000;
const sessionsMax = 4;
const waitingMax = 4;

export interface ImportSessionsDeps {
  readonly ingest: () => Promise<IngestService>;
  readonly clock: Clock;
  readonly prng: Prng;
}

interface Session {
  readonly aborter: AbortController;
  readonly result: Promise<ImportResult>;
  readonly chunks: ChunkQueue;
  /** The last request's completion: resolves, and never rejects, when it is done. */
  turn: Promise<unknown>;
  waiting: number;
  takenBytes: number;
  progress: ImportProgress;
  idle: Timer | undefined;
}

export class ImportSessions {
  readonly #deps: ImportSessionsDeps;
  readonly #sessions = new Map<string, Session>();

  constructor(deps: ImportSessionsDeps) {
    this.#deps = deps;
  }

  async open(options: ImportOptions): Promise<string> {
    const ingest = await this.#deps.ingest();
    if (this.#sessions.size >= sessionsMax) {
      throw new OperatingError("overloaded", "backoff", `${sessionsMax} imports are under way`);
    }
    const id = `import-${randomText(this.#deps.prng, 12)}`;
    const aborter = new AbortController();
    const chunks = new ChunkQueue();
    const session: Session = {
      aborter,
      chunks,
      turn: Promise.resolve(),
      waiting: 0,
      takenBytes: 0,
      progress: { bytes: 0, samples: 0, series: 0 },
      idle: undefined,
      result: ingest.import(
        chunks,
        options,
        (progress) => {
          session.progress = progress;
        },
        aborter.signal,
      ),
    };
    // The next chunk or commit reports the failure.
    session.result.catch(() => chunks.stop());
    this.#sessions.set(id, session);
    this.#touch(id, session);
    return id;
  }

  async push(id: string, offset: number, bytes: Uint8Array): Promise<ImportProgress> {
    const session = this.#session(id);
    this.#touch(id, session);
    if (session.waiting >= waitingMax) {
      const message = `${waitingMax} chunks of this import are waiting to be read`;
      throw new OperatingError("overloaded", "backoff", message);
    }
    return await this.#inTurn(session, () => this.#take(id, session, offset, bytes));
  }

  /** Runs after the session's earlier requests. */
  async #inTurn<T>(session: Session, act: () => Promise<T>): Promise<T> {
    session.waiting += 1;
    const done = session.turn.then(act);
    session.turn = done
      .catch(() => undefined)
      .finally(() => {
        session.waiting -= 1;
      });
    return await done;
  }

  async #take(
    id: string,
    session: Session,
    offset: number,
    bytes: Uint8Array,
  ): Promise<ImportProgress> {
    // Repeated: its answer was lost.
    if (offset + bytes.length <= session.takenBytes) return session.progress;
    if (offset !== session.takenBytes) {
      const message = `the next chunk begins at byte ${session.takenBytes}, not ${offset}`;
      throw new OperatingError("bad_request", "never", message);
    }
    session.takenBytes += bytes.length;
    if (!(await session.chunks.push(bytes))) await this.#failed(id, session);
    return session.progress;
  }

  async commit(id: string): Promise<ImportProgress & { skipped: number; problems: string[] }> {
    const session = this.#session(id);
    session.idle?.cancel();
    await session.turn;
    session.chunks.end();
    try {
      const { skipped, problems, ...progress } = await session.result;
      return { ...progress, skipped, problems: [...problems] };
    } finally {
      this.#sessions.delete(id);
    }
  }

  async abandon(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    session.idle?.cancel();
    session.aborter.abort();
    session.chunks.stop();
    await session.result.catch(() => undefined);
  }

  async #failed(id: string, session: Session): Promise<void> {
    this.#sessions.delete(id);
    session.idle?.cancel();
    await session.result;
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id);
    if (session !== undefined) return session;
    throw new OperatingError("not_found", "never", `there is no import ${JSON.stringify(id)}`, {
      hint: "It may have failed, or been given up after five minutes without a chunk.",
    });
  }

  #touch(id: string, session: Session): void {
    session.idle?.cancel();
    session.idle = this.#deps.clock.after(idleMsMax, () => void this.abandon(id));
  }
}

/** Passes one chunk at a time from the sender to the reader. */
class ChunkQueue implements AsyncIterable<Uint8Array> {
  #chunk: Uint8Array | undefined;
  #taken: (taken: boolean) => void = () => undefined;
  #arrived: () => void = () => undefined;
  #state: "open" | "ended" | "stopped" = "open";

  /** Resolves when the reader wants the next chunk; `false` when nobody reads any more. */
  push(chunk: Uint8Array): Promise<boolean> {
    if (this.#state !== "open") return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#chunk = chunk;
      this.#taken = resolve;
      this.#arrived();
    });
  }

  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#arrived();
  }

  stop(): void {
    this.#state = "stopped";
    this.#arrived();
    this.#taken(false);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#state === "stopped") return;
      const chunk = this.#chunk;
      if (chunk !== undefined) {
        this.#chunk = undefined;
        yield chunk;
        this.#taken(true);
      } else if (this.#state === "ended") {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
      }
    }
  }
}
