/**
 * Decoded columns on this worker's disk, in their memory format: a column that a compute thread had
 * to drop is read back instead of decoded again. The main thread does the accounting
 * (`ColumnFiles`).
 * A file gets its name only when it is complete. An error here costs a decoding, never a query: a
 * file with a wrong checksum counts as absent. The checksum covers the name, so that no other
 * column's file can pass for it.
 */
import {
  closeSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { crc32 } from "node:zlib";
import type { DecodedColumn } from "../metrics/index.ts";

/** What happened to a file, for the accounting. */
export interface ColumnFileNote {
  readonly name: string;
  /** Undefined when the file was read, not written. */
  readonly writtenBytes: number | undefined;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,200}$/;

export class DiskColumns {
  readonly #dir: string;
  readonly #note: (note: ColumnFileNote) => void;
  #next = 1;
  hits = 0;

  constructor(dir: string, note: (note: ColumnFileNote) => void) {
    this.#dir = dir;
    this.#note = note;
  }

  /** Returns undefined when the column is not on disk. */
  read(key: string): DecodedColumn | undefined {
    const name = nameOf(key);
    if (name === undefined) return undefined;
    let file: number | undefined;
    try {
      file = openSync(join(this.#dir, name), "r");
      const bytes = new Uint8Array(fstatSync(file).size);
      for (let done = 0; done < bytes.length; ) {
        const count = readSync(file, bytes, done, bytes.length - done, done);
        if (count === 0) return undefined;
        done += count;
      }
      const length = bytes.length - checksumBytes;
      const isWhole =
        length >= 0 &&
        new DataView(bytes.buffer).getUint32(length) === checksumOf(name, bytes, length);
      if (!isWhole) return undefined;
      this.hits += 1;
      this.#note({ name, writtenBytes: undefined });
      if (key.endsWith("/stale")) return bytes.subarray(0, length);
      return new Float64Array(bytes.buffer, 0, length / Float64Array.BYTES_PER_ELEMENT);
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  write(key: string, column: DecodedColumn): void {
    const name = nameOf(key);
    if (name === undefined) return;
    const fresh = join(this.#dir, `.${threadId}-${this.#next}`);
    this.#next += 1;
    try {
      const bytes = new Uint8Array(column.byteLength + checksumBytes);
      bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
      const crc = checksumOf(name, bytes, column.byteLength);
      new DataView(bytes.buffer).setUint32(column.byteLength, crc);
      writeFileSync(fresh, bytes);
      renameSync(fresh, join(this.#dir, name)); // The file is complete.
      this.#note({ name, writtenBytes: bytes.length });
    } catch {
      rmSync(fresh, { force: true });
    }
  }
}

const checksumBytes = 4;

function checksumOf(name: string, bytes: Uint8Array<ArrayBuffer>, length: number): number {
  return crc32(bytes.subarray(0, length), crc32(name));
}

/** Returns undefined when the key cannot be a file name. */
function nameOf(key: string): string | undefined {
  const name = key.replaceAll("/", ".");
  return namePattern.test(name) ? name : undefined;
}
