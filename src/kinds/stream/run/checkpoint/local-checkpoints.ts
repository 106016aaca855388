/**
 * Checkpoints of a query that runs in one process, in a directory. The record says which one is the
 * last complete one; objects that its manifest does not refer to are deleted when the next one is.
 */
import { join } from "node:path";
import { type ObjectStore, openDirectoryStore } from "../../../../data/lake/index.ts";
import { isDiskFull } from "../../../../ground/kernel/disk-full.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { CheckpointRecord, Prepared } from "../core/checkpoint-record.ts";
import type { CheckpointStore } from "../core/checkpoint-store.ts";
import {
  checkManifest,
  type Manifest,
  type ManifestFragment,
  manifestVersion,
  type StateIdentity,
} from "../core/manifest.ts";
import type { EncodedFragment, RestoredFragment } from "../core/stream-host.ts";
import { createDirectoryRecord } from "./directory-record.ts";
import { readCheckpoint } from "./read-checkpoint.ts";
import { storeState } from "./store-state.ts";

/** How the names of files end that are written before they are put. */
const stagedEnd = ".state";

/** A run that was killed may have left some. */
async function deleteStaged(directory: string, files: Files): Promise<void> {
  for (const { name, kind } of await files.list(directory)) {
    if (kind === "file" && name.endsWith(stagedEnd)) await files.unlink(join(directory, name));
  }
}

export class LocalCheckpoints implements CheckpointStore {
  readonly #directory: string;
  readonly #identity: StateIdentity;
  readonly #files: Files;
  readonly #objects: ObjectStore;
  readonly #record: CheckpointRecord;
  #last: Manifest | undefined;
  /** Increases with each run, so that objects of a run that was killed are never taken for ours. */
  readonly epoch: number;

  private constructor(
    directory: string,
    identity: StateIdentity,
    files: Files,
    objects: ObjectStore,
    record: CheckpointRecord,
    last: Manifest | undefined,
  ) {
    this.#directory = directory;
    this.#identity = identity;
    this.#files = files;
    this.#objects = objects;
    this.#record = record;
    this.#last = last;
    this.epoch = (last?.epoch ?? 0) + 1;
  }

  /** Throws when the directory has a checkpoint of another query. */
  static async open(
    directory: string,
    identity: StateIdentity,
    files: Files,
    record: CheckpointRecord = createDirectoryRecord(directory, files),
  ): Promise<LocalCheckpoints> {
    const objects = await openDirectoryStore(directory, files);
    await deleteStaged(directory, files);
    const last = await record.last();
    if (last !== undefined) checkManifest(last, identity);
    const opened = new LocalCheckpoints(directory, identity, files, objects, record, last);
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

  async store(checkpoint: number, state: EncodedFragment): Promise<ManifestFragment> {
    const { fragment } = state;
    return await this.#naming(checkpoint, () =>
      storeState({
        objects: this.#objects,
        files: this.#files,
        stagingDir: this.#directory,
        prefix: "state",
        name: `${fragment}-${checkpoint}-${this.epoch}${stagedEnd}`,
        state,
        previous: this.#last?.fragments.find((each) => each.fragment === fragment),
      }),
    );
  }

  /** A full disk is told with the checkpoint that has no room on it. */
  async #naming<T>(checkpoint: number, store: () => Promise<T>): Promise<T> {
    try {
      return await store();
    } catch (thrown) {
      const isFull = thrown instanceof OperatingError && thrown.code === "disk_full";
      if (!isFull && !isDiskFull(thrown)) throw thrown;
      const message = `no room for checkpoint ${checkpoint} in ${this.#directory}: the disk is full`;
      const last = this.#last?.checkpoint;
      const hint =
        last === undefined
          ? "Make room, and start the query again."
          : `Make room, and start the query again: it goes on from checkpoint ${last}.`;
      throw new OperatingError("disk_full", "backoff", message, { cause: thrown, hint });
    }
  }

  async complete(
    checkpoint: number,
    fragments: readonly ManifestFragment[],
    prepared: Prepared,
  ): Promise<void> {
    const { epoch } = this;
    const version = manifestVersion;
    const manifest: Manifest = { version, ...this.#identity, checkpoint, epoch, fragments };
    await this.#naming(checkpoint, () => this.#record.complete(manifest, prepared));
    this.#last = manifest;
    await this.#deleteOthers();
  }

  async #deleteOthers(): Promise<void> {
    const wanted = new Set(
      this.#last?.fragments.flatMap(({ objects }) => objects.map(({ path }) => path)),
    );
    const others: string[] = [];
    for await (const { path } of this.#objects.list("state/")) {
      if (!wanted.has(path)) others.push(path);
    }
    if (others.length > 0) await this.#objects.delete(others);
  }
}
