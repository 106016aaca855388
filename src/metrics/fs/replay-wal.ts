/**
 * Reads the log back. The newest file may end in a record that was being written when the process died: it was never
 * acknowledged, and is cut off. Everything else that cannot be read is damage, and an error that says where.
 */
import { open, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { crc32 } from "node:zlib";
import { OperatingError } from "../../kernel/errors.ts";
import { frameBytes, frameMagic, type WalFile } from "./wal.ts";

export interface ReplayResult {
  readonly records: number;
  /** Cut off the newest file's end. */
  readonly tornBytes: number;
}

/** `take` is given every payload in order. */
export async function replayWal(
  files: readonly WalFile[],
  take: (payload: Uint8Array, file: WalFile) => void,
): Promise<ReplayResult> {
  let records = 0;
  let tornBytes = 0;
  for (const file of files) {
    const bytes = await readFile(file.path);
    let at = 0;
    while (at < bytes.length) {
      const payload = frameAt(bytes, at);
      if (payload === undefined) break;
      take(payload, file);
      records += 1;
      at += frameBytes + payload.length;
    }
    if (at === bytes.length) continue;
    if (file !== files.at(-1) || wasSafe(bytes, at)) throw damaged(file, at);
    tornBytes = bytes.length - at;
    await cutOff(file.path, at);
  }
  return { records, tornBytes };
}

/** On the disk at once: the file will not be the newest for long, and must be whole then. */
async function cutOff(path: string, length: number): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.truncate(length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The payload of the whole and correct frame there. */
function frameAt(bytes: Buffer, at: number): Buffer | undefined {
  if (at + frameBytes > bytes.length || bytes.readUInt32LE(at) !== frameMagic) return undefined;
  const end = at + frameBytes + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  if (crc32(bytes.subarray(at + 12, end)) !== bytes.readUInt32LE(at + 8)) return undefined;
  return bytes.subarray(at + frameBytes, end);
}

/** Whether a frame further on was written when this place was on the disk already. */
function wasSafe(bytes: Buffer, bad: number): boolean {
  const magic = Buffer.alloc(4);
  magic.writeUInt32LE(frameMagic);
  for (let at = bytes.indexOf(magic, bad + 1); at >= 0; at = bytes.indexOf(magic, at + 1)) {
    if (frameAt(bytes, at) !== undefined && bytes.readUInt32LE(at + 12) > bad) return true;
  }
  return false;
}

function damaged(file: WalFile, at: number): OperatingError {
  return new OperatingError(
    "store_corrupt",
    "never",
    `the write-ahead log is damaged: ${basename(file.path)} at byte ${at}`,
    {
      hint: "Restore the file from a backup. Or move it away to go on without the samples from there on: what was sealed before is safe.",
    },
  );
}
