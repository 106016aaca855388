/** A file of the log as earlier versions wrote it, made of one of today's. */
import { encodeFrames, frameBytes } from "../wal-frames.ts";

/** The first frame, which says which file it is, is left out; marks are of what is left. */
export function namelessFile(bytes: Buffer): Buffer {
  const first = frameBytes + bytes.readUInt32LE(4);
  const frames: Buffer[] = [];
  for (let at = first; at < bytes.length; ) {
    const end = at + frameBytes + bytes.readUInt32LE(at + 4);
    const synced = Math.max(0, bytes.readUInt32LE(at + 12) - first);
    frames.push(encodeFrames([bytes.subarray(at + frameBytes, end)], synced));
    at = end;
  }
  return Buffer.concat(frames);
}
