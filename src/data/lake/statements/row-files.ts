/**
 * Sends a relation's rows that are too many for a statement's text to the worker, as JSON lines in
 * a file beside the lake's. Rules: RW1 and RW2.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { NeededFile, ObjectStore } from "../core/index.ts";
import type { Uploads } from "./uploads.ts";

export interface RowFilesDeps {
  readonly objects: Pick<ObjectStore, "delete" | "put">;
  readonly uploads: Pick<Uploads, "append" | "begin" | "discard" | "received">;
}

const bytesMaxDefault = 1024 ** 3;
const chunkBytes = 1024 ** 2;

export class RowFiles {
  readonly #deps: RowFilesDeps;
  /** Unique among statements. */
  readonly #name: string;
  readonly #signal: AbortSignal;
  readonly #bytesMax: number;
  readonly #paths: string[] = [];

  constructor(
    deps: RowFilesDeps,
    name: string,
    signal: AbortSignal,
    bytesMax: number = bytesMaxDefault,
  ) {
    this.#deps = deps;
    this.#name = name;
    this.#signal = signal;
    this.#bytesMax = bytesMax;
  }

  /** `lines` yields several whole lines at a time. `relation` is for messages. */
  async put(relation: string, lines: AsyncIterable<string>): Promise<NeededFile> {
    const { objects, uploads } = this.#deps;
    const id = uploads.begin();
    try {
      await this.#write(id, relation, lines);
      const { localPath, sizeBytes } = uploads.received(id);
      const path = `uploads/${this.#name}-${this.#paths.length}.json`;
      this.#paths.push(path);
      const { crc32 } = await objects.put(path, localPath, this.#signal);
      return { path, sizeBytes, crc32 };
    } finally {
      await uploads.discard(id);
    }
  }

  /** Deletes the statement's files. */
  async discard(): Promise<void> {
    const paths = this.#paths.splice(0);
    if (paths.length > 0) await this.#deps.objects.delete(paths).catch(() => undefined);
  }

  async #write(id: string, relation: string, lines: AsyncIterable<string>): Promise<void> {
    const { uploads } = this.#deps;
    let written = 0;
    let pieces: string[] = [];
    let chars = 0;
    const flush = async (): Promise<void> => {
      if (chars === 0) return;
      written = await uploads.append(id, written, Buffer.from(pieces.join("")));
      pieces = [];
      chars = 0;
    };
    for await (const line of lines) {
      this.#signal.throwIfAborted();
      pieces.push(line);
      chars += line.length;
      if (chars < chunkBytes) continue;
      await flush();
      if (written > this.#bytesMax) throw tooLarge(relation, this.#bytesMax);
    }
    await flush();
    if (written > this.#bytesMax) throw tooLarge(relation, this.#bytesMax);
  }
}

function tooLarge(relation: string, bytesMax: number): OperatingError {
  const message = `${relation} has more than ${Math.round(bytesMax / 1024 ** 2)} MiB of rows, more than SQL can read at once`;
  return new OperatingError("query_too_large", "never", message);
}
