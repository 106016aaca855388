/** The record of a query whose sinks prepare nothing: a file, replaced as a whole. */
import { join } from "node:path";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { replaceFile } from "../../../../ground/kernel/replace-file.ts";
import type { CheckpointRecord } from "../core/checkpoint-record.ts";
import type { Manifest } from "../core/manifest.ts";

export function createDirectoryRecord(directory: string, files: Files): CheckpointRecord {
  const path = join(directory, "current.json");
  return {
    last: () => readManifest(path, files),
    complete: async (manifest, prepared) => {
      assert(prepared.size === 0, "nothing waits to be committed with the checkpoint");
      await replaceFile(files, path, `${JSON.stringify(manifest)}\n`);
    },
  };
}

/** `undefined` where there is no such file. */
export async function readManifest(path: string, files: Files): Promise<Manifest | undefined> {
  if ((await files.stat(path)) === undefined) return undefined;
  const text = (await files.read(path)).toString();
  try {
    return JSON.parse(text) as Manifest;
  } catch (cause) {
    throw new OperatingError("data_corrupt", "never", `${path} is no checkpoint`, { cause });
  }
}
