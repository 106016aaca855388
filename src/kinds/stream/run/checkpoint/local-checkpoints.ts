/**
 * Checkpoints of a query that runs in one process, in a directory: `current.json` is the manifest
 * of the last complete one, and is replaced when the next one is complete. Objects that it does not
 * refer to are deleted then.
 */
import { join } from "node:path";
import { type ObjectStore, openDirectoryStore } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { replaceFile } from "../../../../ground/kernel/replace-file.ts";
import { checkManifest, type Manifest } from "../core/manifest.ts";
import type { RestoredFragment } from "../host/fragment-host.ts";
import type { EncodedFragment } from "./encode-checkpoint.ts";
import { readCheckpoint } from "./read-checkpoint.ts";
import { writeCheckpoint } from "./write-checkpoint.ts";

export class LocalCheckpoints {
  readonly #directory: string;
  readonly #planHash: string;
  readonly #files: Files;
  readonly #objects: ObjectStore;
  #last: Manifest | undefined;
  /** Increases with each run, so that objects of a run that was killed are never taken for ours. */
  readonly #epoch: number;

  private constructor(
    directory: string,
    planHash: string,
    files: Files,
    objects: ObjectStore,
    last: Manifest | undefined,
  ) {
    this.#directory = directory;
    this.#planHash = planHash;
    this.#files = files;
    this.#objects = objects;
    this.#last = last;
    this.#epoch = (last?.epoch ?? 0) + 1;
  }

  /** Throws when the directory has a checkpoint of another query. */
  static async open(directory: string, planHash: string, files: Files): Promise<LocalCheckpoints> {
    const objects = await openDirectoryStore(directory, files);
    const last = await readManifest(join(directory, "current.json"), files);
    if (last !== undefined) checkManifest(last, planHash);
    const opened = new LocalCheckpoints(directory, planHash, files, objects, last);
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

  /** Called when everything that the sinks wrote before is durable. One at a time. */
  async complete(fragments: readonly EncodedFragment[]): Promise<Manifest> {
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
    const path = join(this.#directory, "current.json");
    await replaceFile(this.#files, path, `${JSON.stringify(manifest)}\n`);
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

async function readManifest(path: string, files: Files): Promise<Manifest | undefined> {
  if ((await files.stat(path)) === undefined) return undefined;
  const text = (await files.read(path)).toString();
  try {
    return JSON.parse(text) as Manifest;
  } catch (cause) {
    throw new OperatingError("data_corrupt", "never", `${path} is no checkpoint`, { cause });
  }
}
