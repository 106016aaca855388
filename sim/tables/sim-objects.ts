/**
 * The lake's object store: files that are there whole or not at all, and a link to it from each
 * life, with latency and errors. An operation whose answer is an error may have been done all the
 * same, as with any store behind a network.
 */

import type { LakeTable, ObjectStore } from "../../src/data/lake/index.ts";
import { AssertionError, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { LakeFile } from "./lake-files.ts";
import { sizeOf } from "./lake-files.ts";

interface Stored<File> {
  readonly file: File;
  readonly modifiedMs: number;
}

/** Told of what happens to files, when it happens. */
export interface ObjectProbe {
  deleted(life: Life, path: string): void;
  failed(life: Life): void;
}

export class SimObjects<File = LakeFile> {
  readonly #files = new Map<string, Stored<File>>();
  #outages = 0;
  #errors = 0;
  #names = 0;

  /** A name that was never used. */
  newName(): string {
    this.#names += 1;
    return `${this.#names}.parquet`;
  }

  get(path: string): File | undefined {
    return this.#files.get(path)?.file;
  }

  put(path: string, file: File, nowMs: number): void {
    if (this.#files.has(path)) throw new AssertionError(`the name ${path} is used once`);
    this.#files.set(path, { file, modifiedMs: nowMs });
  }

  remove(path: string): boolean {
    return this.#files.delete(path);
  }

  entries(): IterableIterator<[string, Stored<File>]> {
    return this.#files.entries();
  }

  beginOutage(): void {
    this.#outages += 1;
  }

  endOutage(): void {
    this.#outages -= 1;
  }

  /** The next `count` operations of anybody fail. */
  failNext(count: number): void {
    this.#errors += count;
  }

  disarm(): void {
    this.#errors = 0;
  }

  takesError(): boolean {
    if (this.#outages > 0) return true;
    if (this.#errors === 0) return false;
    this.#errors -= 1;
    return true;
  }
}

export interface ObjectLinkOptions<File = LakeFile> {
  readonly objects: SimObjects<File>;
  readonly life: Life;
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly probe: ObjectProbe;
}

/** A life's calls of the object store: each takes a while, and may fail. */
export class ObjectCalls<File> {
  readonly #options: ObjectLinkOptions<File>;

  constructor(options: ObjectLinkOptions<File>) {
    this.#options = options;
  }

  delete(paths: readonly string[]): Promise<void> {
    const { objects, life, probe } = this.#options;
    return this.call(() => {
      for (const path of paths) {
        if (objects.remove(path)) probe.deleted(life, path);
      }
    }, true);
  }

  protected call<T>(act: () => T, changes: boolean): Promise<T> {
    const { objects, life, timeline, prng, probe } = this.#options;
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => {
        timeline.after(1 + prng.next() * 20, () => life.receive(settle));
      };
      timeline.after(1 + prng.next() * 20, () => {
        // What was sent arrives, whatever has become of its sender.
        const isFailing = objects.takesError();
        if (isFailing) probe.failed(life);
        try {
          const isLost = isFailing && !(changes && prng.next() < 0.5);
          const result = isLost ? undefined : act();
          if (!isFailing) {
            answer(() => resolve(result as T));
            return;
          }
          answer(() =>
            reject(new OperatingError("store_unavailable", "backoff", "the object store is away")),
          );
        } catch (thrown) {
          answer(() => reject(thrown));
        }
      });
    });
  }
}

export class ObjectLink
  extends ObjectCalls<LakeFile>
  implements Pick<ObjectStore, "delete" | "list">
{
  readonly #options: ObjectLinkOptions;

  constructor(options: ObjectLinkOptions) {
    super(options);
    this.#options = options;
  }

  newPath(table: Pick<LakeTable, "path">): string {
    return `${table.path}${this.#options.objects.newName()}`;
  }

  write(path: string, file: LakeFile): Promise<void> {
    const { objects, timeline } = this.#options;
    return this.call(() => objects.put(path, file, timeline.nowMs), true);
  }

  /** All in one go, so that a refresh of many small files is no longer than it has to be. */
  fetchAll(paths: readonly string[]): Promise<ReadonlyMap<string, LakeFile>> {
    const { objects } = this.#options;
    return this.call(() => {
      const found = new Map<string, LakeFile>();
      for (const path of paths) {
        const file = objects.get(path);
        if (file === undefined) {
          throw new OperatingError("not_found", "never", `the lake's file ${path} is gone`);
        }
        found.set(path, file);
      }
      return found;
    }, false);
  }

  async *list(prefix: string): AsyncGenerator<{
    path: string;
    sizeBytes: number;
    modifiedMs: number;
  }> {
    const { objects } = this.#options;
    const listed = await this.call(
      () => [...objects.entries()].filter(([path]) => path.startsWith(prefix)),
      false,
    );
    for (const [path, { file, modifiedMs }] of listed) {
      yield { path, sizeBytes: sizeOf(file), modifiedMs };
    }
  }
}
