/**
 * Decoded columns on this worker's disk, as they are in memory: what a compute thread had to drop is read back instead of
 * decoded again. Used by compute threads; the accounts are the main thread's (`ColumnFiles`).
 *
 *   DC1  A file is whole or absent: it gets its name when it is complete.
 *   DC2  Whatever goes wrong here costs a decoding, never a query.
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
import type { DecodedColumn } from "../../metrics/index.ts";

/** What happened to a file, for the accounts. */
export interface ColumnFileNote {
  readonly name: string;
  /** Absent: it was used. */
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

  /** `undefined`: it is not there. */
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
      this.hits += 1;
      this.#note({ name, writtenBytes: undefined });
      return key.endsWith("/stale") ? bytes : new Float64Array(bytes.buffer);
    } catch {
      return undefined; // DC2
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
      writeFileSync(fresh, new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
      renameSync(fresh, join(this.#dir, name)); // DC1
      this.#note({ name, writtenBytes: column.byteLength });
    } catch {
      rmSync(fresh, { force: true }); // DC2
    }
  }
}

/** `undefined`: it could not be a file's name. */
function nameOf(key: string): string | undefined {
  const name = key.replaceAll("/", ".");
  return namePattern.test(name) ? name : undefined;
}
