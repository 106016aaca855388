/** Reads files and computes their checksums, one after the other. */
import { closeSync, openSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { type ChecksumThread, checksumErrors } from "./checksum-file.ts";
import { servePeer } from "./serve-peer.ts";

const buffer = Buffer.allocUnsafeSlow(1024 * 1024);

servePeer<ChecksumThread>(
  () => ({ requests: { checksum: checksumOf }, notes: {} }),
  checksumErrors,
);

function checksumOf(path: string): number {
  const fd = openSync(path, "r");
  try {
    let crc = 0;
    for (;;) {
      const count = readSync(fd, buffer, 0, buffer.length, null);
      if (count === 0) return crc;
      crc = crc32(count === buffer.length ? buffer : buffer.subarray(0, count), crc);
    }
  } finally {
    closeSync(fd);
  }
}
