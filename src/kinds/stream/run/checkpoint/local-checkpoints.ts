/**
 * Checkpoints of a query that runs in one process, in a directory. The record says which one is the
 * last complete one; objects that its manifest does not refer to are deleted when the next one is.
 */
import { type ObjectStore, openDirectoryStore } from "../../../../data/lake/index.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { CheckpointRecord, Prepared } from "../core/checkpoint-record.ts";
import { checkManifest, type Manifest } from "../core/manifest.ts";
import type { RestoredFragment } from "../host/fragment-host.ts";
import { createDirectoryRecord } from "./directory-record.ts";
import type { EncodedFragment } from "./encode-checkpoint.ts";
import { readCheckpoint } from "./read-checkpoint.ts";
import { writeCheckpoint } from "./write-checkpoint.ts";

export class LocalCheckpoints {
  readonly #directory: string;
  readonly #planHash: string;
  readonly #files: Files;
  readonly #objects: ObjectStore;
  readonly #record: CheckpointRecord;
  #last: Manifest | undefined;
  /** Increases with each run, so that objects of a run that was killed are never taken for ours. */
  readonly #epoch: number;

  private constructor(
    directory: string,
    planHash: string,
    files: Files,
    objects: ObjectStore,
    record: CheckpointRecord,
    last: Manifest | undefined,
  ) {
    this.#directory = directory;
    this.#planHash = planHash;
    this.#files = files;
    this.#objects = objects;
    this.#record = record;
    this.#last = last;
    this.#epoch = (last?.epoch ?? 0) + 1;
  }

  /** Throws when the directory has a checkpoint of another query. */
  static async open(
    directory: string,
    planHash: string,
    files: Files,
    record: CheckpointRecord = createDirectoryRecord(directory, files),
  ): Promise<LocalCheckpoints> {
    const objects = await openDirectoryStore(directory, files);
    const last = await record.last();
    if (last !== undefined) checkManifest(last, planHash);
    const opened = new LocalCheckpoints(directory, planHash, files, objects, record, last);
    await opened.#deleteOthers();
    return opened;
  }

  /** The last complete checkpoint. */
  get last(): Manifest | undefined {
    return this.#last;
  }

  async restore(): Promise<ReadonlyMap<string, RestoredFragment> | undefined> {
    if (this.#last === undefined) return undefined;
    return await readCheckpoint(this.#last, this.#objects, this.#files);
  }

  /**
   * Called when everything that the sinks wrote before is durable, with what they prepared. One at
   * a time.
   */
  async complete(
    fragments: readonly EncodedFragment[],
    prepared: Prepared = new Map(),
  ): Promise<Manifest> {
    const manifest = await writeCheckpoint({
      objects: this.#objects,
      files: this.#files,
      stagingDir: this.#directory,
      prefix: "state",
      planHash: this.#planHash,
      checkpoint: (this.#last?.checkpoint ?? 0) + 1,
      epoch: this.#epoch,
      fragments,
      previous: this.#last,
    });
    await this.#record.complete(manifest, prepared);
    this.#last = manifest;
    await this.#deleteOthers();
    return manifest;
  }

  async #deleteOthers(): Promise<void> {
    const wanted = new Set(this.#last?.objects.map(({ path }) => path));
    const others: string[] = [];
    for await (const { path } of this.#objects.list("state/")) {
      if (!wanted.has(path)) others.push(path);
    }
    if (others.length > 0) await this.#objects.delete(others);
  }
}
