/** Reads files and computes their checksums, one after the other. */
import { closeSync, openSync, readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { crc32 } from "node:zlib";
import { assert, messageOf } from "../errors.ts";
import type { ChecksumAnswer } from "./checksum-file.ts";

const port = parentPort;
assert(port !== null, "checksums are computed in a thread of their own");
const buffer = Buffer.allocUnsafeSlow(1024 * 1024);

port.on("message", ({ id, path }: { readonly id: number; readonly path: string }) => {
  port.postMessage(answer(id, path));
});

function answer(id: number, path: string): ChecksumAnswer {
  try {
    return { id, crc32: checksumOf(path) };
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    return { id, error: { message: messageOf(thrown), code } };
  }
}

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
