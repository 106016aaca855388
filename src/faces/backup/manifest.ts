/**
 * `manifest.json` lists every file of a backup with its size and CRC-32, and has a checksum of its
 * own. It is written last, so that a directory without one is no backup.
 */
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { Files } from "../../ground/kernel/files.ts";
import { replaceFile } from "../../ground/kernel/replace-file.ts";

export const manifestName = "manifest.json";
const formatVersion = 1;

/**
 * `store/` has one file of rows per table; `lake/`, `segments/` and `log/` have copies of files.
 */
export interface BackupFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32: number;
}

export interface Manifest {
  readonly format: number;
  readonly createdAt: string;
  /** The version of Capstan. */
  readonly version: string;
  readonly schemaVersion: number;
  readonly files: readonly BackupFile[];
}

export async function writeManifest(
  files: Files,
  directory: string,
  manifest: Omit<Manifest, "format">,
): Promise<void> {
  const text = JSON.stringify({ format: formatVersion, ...manifest });
  const content = `${text}\n${crc32(text)}\n`;
  await replaceFile(files, join(directory, manifestName), content);
}

export async function readManifest(files: Files, directory: string): Promise<Manifest> {
  const bytes = await files.read(join(directory, manifestName)).catch((thrown: unknown) => {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    const message = `${directory} has no ${manifestName}: it is no backup, or one that was not finished`;
    throw new OperatingError("bad_request", "never", message, {
      hint: "Name a directory that `capstan backup` wrote to its end.",
    });
  });
  const [text = "", checksum] = bytes.toString("utf8").split("\n");
  if (String(crc32(text)) !== checksum) throw damagedBackup(manifestName);
  const manifest = JSON.parse(text) as Manifest;
  if (manifest.format > formatVersion) {
    const message = `the backup has format ${manifest.format}, and this Capstan knows up to ${formatVersion}`;
    throw new OperatingError("schema_newer", "never", message, {
      hint: "Use the newer version of Capstan that wrote it.",
    });
  }
  return manifest;
}

export function damagedBackup(path: string): OperatingError {
  const message = `the backup is damaged: ${path} is not as it was written`;
  return new OperatingError("data_corrupt", "never", message, {
    hint: "Nothing was restored. Use another backup.",
  });
}
