/**
 * Frames of the log. A frame has 16 bytes and a payload: magic, length of the payload, CRC-32 of
 * the rest, and how much of the file was on the disk when the frame was written (uint32 each,
 * little endian). A frame without a payload is a *mark*, which only says how much is on the disk.
 * The first frame names the file and its log (`FileIdentity`), so that no other file can replace it
 * unnoticed; files of earlier versions have none.
 */
import { crc32 } from "node:zlib";

export const frameBytes = 16;
const frameMagic = 0x4c_57_50_43; // CPWL
const magic = Buffer.from([0x43, 0x50, 0x57, 0x4c]);

export function encodeFrames(payloads: readonly Uint8Array[], syncedBytes: number): Buffer {
  const length = payloads.reduce((sum, payload) => sum + frameBytes + payload.length, 0);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const payload of payloads) {
    bytes.writeUInt32LE(frameMagic, at);
    bytes.writeUInt32LE(payload.length, at + 4);
    bytes.writeUInt32LE(syncedBytes, at + 12);
    bytes.set(payload, at + frameBytes);
    const end = at + frameBytes + payload.length;
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 12, end)), at + 8);
    at = end;
  }
  return bytes;
}

const nothing = new Uint8Array(0);

export function encodeMark(syncedBytes: number): Buffer {
  return encodeFrames([nothing], syncedBytes);
}

export interface FileIdentity {
  /** Undefined when written by a repair that did not know it. */
  readonly lineage: string | undefined;
  readonly name: string;
}

/** No record begins like this: records begin with the number of their version. */
const identityPattern = /^capstan-log ([a-z0-9]+|-) (\S+)$/;
const identityBytesMax = 200;

export function encodeIdentity({ lineage, name }: FileIdentity): Buffer {
  return Buffer.from(`capstan-log ${lineage ?? "-"} ${name}`);
}

function decodeIdentity(payload: Buffer): FileIdentity | undefined {
  if (payload.length > identityBytesMax) return undefined;
  const [, lineage, name] = identityPattern.exec(payload.toString("latin1")) ?? [];
  if (name === undefined) return undefined;
  return { lineage: lineage === "-" ? undefined : lineage, name };
}

/**
 * The name in the file's first frame. `"unnamed"` when that frame is whole and has no name;
 * undefined when there is no whole frame at the beginning.
 */
export function readIdentity(bytes: Buffer): FileIdentity | "unnamed" | undefined {
  const payload = frameAt(bytes, 0);
  return payload === undefined ? undefined : (decodeIdentity(payload) ?? "unnamed");
}

/** False for a mark and for the frame that names the file. */
export function isRecord({ at, payload }: ReadFrame): boolean {
  return payload.length > 0 && (at > 0 || decodeIdentity(payload) === undefined);
}

export interface ReadFrame {
  readonly at: number;
  /** Empty for a mark. */
  readonly payload: Buffer;
}

/** Bytes between good frames, or after the last one. */
export interface BadBytes {
  readonly from: number;
  readonly to: number;
}

export interface ReadFrames {
  /** Every good frame, in order. */
  readonly frames: readonly ReadFrame[];
  readonly bad: readonly BadBytes[];
  /** How many bytes were on the disk for certain, according to the good frames. */
  readonly syncedBytes: number;
}

/** Finds every good frame, also after bad bytes. */
export function readFrames(bytes: Buffer): ReadFrames {
  const frames: ReadFrame[] = [];
  const bad: BadBytes[] = [];
  let syncedBytes = 0;
  let at = 0;
  while (at < bytes.length) {
    let good = at;
    let payload = frameAt(bytes, at);
    while (payload === undefined && good >= 0) {
      good = bytes.indexOf(magic, good + 1);
      if (good >= 0) payload = frameAt(bytes, good);
    }
    if (payload === undefined) {
      bad.push({ from: at, to: bytes.length });
      break;
    }
    if (good > at) bad.push({ from: at, to: good });
    frames.push({ at: good, payload });
    syncedBytes = Math.max(syncedBytes, bytes.readUInt32LE(good + 12));
    at = good + frameBytes + payload.length;
  }
  return { frames, bad, syncedBytes };
}

/** The payload of the frame at `at`, if it is whole and its checksum is right. */
function frameAt(bytes: Buffer, at: number): Buffer | undefined {
  if (at + frameBytes > bytes.length || bytes.readUInt32LE(at) !== frameMagic) return undefined;
  const end = at + frameBytes + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  if (crc32(bytes.subarray(at + 12, end)) !== bytes.readUInt32LE(at + 8)) return undefined;
  return bytes.subarray(at + frameBytes, end);
}
