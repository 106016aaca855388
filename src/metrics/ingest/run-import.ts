/**
 * The process's end of an import: chunks out one at a time, segments in, published all at once.
 *
 *   RI1  Nothing is visible before everything is, and then all of it is.
 *   RI2  An import that failed, was aborted or whose thread died leaves no file.
 *   RI3  Once publication was tried, files stay: whether it happened is for the catalog to say, and files that it does
 *        not know are swept as orphans.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { decodeError } from "../../kernel/error-codec.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { siblingModule } from "../../kernel/node/sibling-module.ts";
import type { ImportProgress } from "../core/ingest-service.ts";
import { segmentsFolder, temporaryFolder } from "../fs/lake.ts";
import type { FromImportThread, ImportThreadOptions, ToImportThread } from "./import-messages.ts";
import { ownBytes } from "./own-bytes.ts";

export type DoneImport = Extract<FromImportThread, { kind: "done" }>;

/** Segments that are on disk and not published. Rejects when there are none, and none are left. */
export async function runImport(
  options: ImportThreadOptions,
  chunks: AsyncIterable<Uint8Array>,
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<DoneImport> {
  if (signal.aborted) throw cancelled();
  const thread = new Worker(siblingModule(import.meta.url, "./import-thread"), {
    workerData: options,
  });
  const session = new ImportSession(thread, onProgress, signal);
  try {
    for await (const chunk of chunks) {
      if (session.isOver) break;
      await session.send(chunk);
    }
    if (!session.isOver) session.end();
    return await session.done;
  } catch (thrown) {
    await thread.terminate();
    await removeFilesOf(options); // RI2
    throw thrown;
  } finally {
    session.leave();
  }
}

/** What a thread that died could not remove itself. */
async function removeFilesOf({ lakeDir, importId }: ImportThreadOptions): Promise<void> {
  for (const folder of [temporaryFolder, segmentsFolder]) {
    for (const name of await readdir(join(lakeDir, folder)).catch(() => [])) {
      if (!name.startsWith(importId)) continue;
      await rm(join(lakeDir, folder, name), { recursive: true, force: true });
    }
  }
}

class ImportSession {
  readonly done: Promise<DoneImport>;
  readonly #thread: Worker;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  #taken: PromiseWithResolvers<void> | undefined;
  #failure: Error | undefined;

  constructor(thread: Worker, onProgress: (progress: ImportProgress) => void, signal: AbortSignal) {
    this.#thread = thread;
    this.#signal = signal;
    const { promise, resolve, reject } = Promise.withResolvers<DoneImport>();
    this.done = promise;
    promise.catch(() => undefined); // Whoever sends a chunk is told first.
    const fail = (error: Error): void => {
      this.#failure ??= error;
      reject(this.#failure);
      this.#taken?.reject(this.#failure);
    };
    this.#onAbort = () => fail(cancelled());
    signal.addEventListener("abort", this.#onAbort, { once: true });
    thread.on("message", (message: FromImportThread) => {
      if (message.kind === "progress") {
        onProgress(message.progress);
        this.#taken?.resolve();
      } else if (message.kind === "done") resolve(message);
      else fail(decodeError(message.error));
    });
    thread.on("error", (thrown) => fail(broken(messageOf(thrown))));
    thread.on("exit", (code) => fail(broken(`its thread ended with code ${code}`)));
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /** Resolves when the thread has read it, so that no more than a chunk waits. */
  async send(chunk: Uint8Array): Promise<void> {
    const bytes = ownBytes(chunk);
    this.#taken = Promise.withResolvers<void>();
    this.#post({ kind: "chunk", bytes }, [bytes.buffer]);
    await this.#taken.promise;
  }

  end(): void {
    this.#post({ kind: "end" });
  }

  leave(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  #post(message: ToImportThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, [...transfer]);
  }
}

function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "the import was cancelled");
}

function broken(message: string): OperatingError {
  return new OperatingError("store_unavailable", "backoff", `the import broke: ${message}`);
}
