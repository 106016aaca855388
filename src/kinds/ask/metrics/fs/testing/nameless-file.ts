/** Converts a log file to the format of earlier versions. */
import { encodeFrames, frameBytes } from "../wal-frames.ts";

/** Drops the first frame, which names the file, and adapts the marks. */
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
