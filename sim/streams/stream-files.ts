/** What streams put into the object store: the state of fragments, and rows of Lake sinks. */
import type { ObjectStore } from "../../src/data/lake/index.ts";
import { AssertionError, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Files } from "../../src/ground/kernel/files.ts";
import { ObjectCalls, type ObjectLinkOptions } from "../tables/sim-objects.ts";

/** Values of a row, in the order of its columns. */
export type StreamRow = readonly number[];

export type StreamFile =
  | { readonly kind: "state"; readonly bytes: Uint8Array }
  | {
      readonly kind: "rows";
      readonly query: string;
      readonly epoch: number;
      readonly rows: readonly StreamRow[];
    };

/** What states do not need of a file. */
const unused = (): Promise<void> => Promise.reject(new AssertionError("states are written once"));

/** Staged files of one process, in memory: they do not outlive it. */
export class StageFiles {
  readonly #files = new Map<string, Uint8Array>();
  #copies = 0;

  /** As far as the storage of states needs it. */
  get port(): Files {
    return {
      open: async (path: string) => ({
        write: async (bytes: Uint8Array, at: number) => {
          const before = this.#files.get(path) ?? new Uint8Array(0);
          const grown = new Uint8Array(Math.max(before.length, at + bytes.length));
          grown.set(before);
          grown.set(bytes, at);
          this.#files.set(path, grown);
        },
        truncate: unused,
        sync: unused,
        close: async () => undefined,
      }),
      read: async (path: string) => Buffer.from(this.#files.get(path) ?? []),
      removeAll: async (path: string) => void this.#files.delete(path),
    } as Partial<Files> as Files;
  }

  take(path: string): Uint8Array {
    const bytes = this.#files.get(path) ?? new Uint8Array(0);
    this.#files.delete(path);
    return bytes;
  }

  copy(bytes: Uint8Array): { readonly localPath: string; readonly release: () => void } {
    this.#copies += 1;
    const localPath = `copy-${this.#copies}`;
    this.#files.set(localPath, bytes);
    return { localPath, release: () => void this.#files.delete(localPath) };
  }
}

/** The object store as one process uses it for streams. */
export class StreamObjects
  extends ObjectCalls<StreamFile>
  implements Pick<ObjectStore, "delete" | "fetch" | "put">
{
  readonly #options: ObjectLinkOptions<StreamFile>;
  readonly stage = new StageFiles();

  constructor(options: ObjectLinkOptions<StreamFile>) {
    super(options);
    this.#options = options;
  }

  async put(path: string, localPath: string): Promise<{ crc32: number }> {
    await this.#put(path, { kind: "state", bytes: this.stage.take(localPath) });
    return { crc32: 0 };
  }

  async putRows(path: string, file: Extract<StreamFile, { kind: "rows" }>): Promise<void> {
    await this.#put(path, file);
  }

  async fetch({ path }: { readonly path: string }): ReturnType<ObjectStore["fetch"]> {
    const { objects } = this.#options;
    const found = await this.call(() => objects.get(path), false);
    if (found?.kind === "state") return this.stage.copy(found.bytes);
    throw new OperatingError("not_found", "never", `the object ${path} is gone`);
  }

  #put(path: string, file: StreamFile): Promise<void> {
    const { objects, timeline } = this.#options;
    return this.call(() => objects.put(path, file, timeline.nowMs), true);
  }
}
