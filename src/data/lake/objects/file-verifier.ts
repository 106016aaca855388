/**
 * Remembers which local files were read whole in this process and had the catalog's checksum.
 *
 * A file is verified before its first use, and again after it was written to or replaced
 * (`FileStat.identity`), when the disk does not tell, and after it was evicted from this memory.
 */
import { crc32 as crc32Of } from "node:zlib";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { checksumFile } from "../../../ground/threads/index.ts";

export interface VerifierObserver {
  /** Called after a file was read whole and compared. */
  verified(isSound: boolean): void;
}

export const silentVerifierObserver: VerifierObserver = { verified: () => undefined };

export interface FileVerifierOptions {
  readonly files?: Files;
  /** Reads from the machine's disk. Files of another disk are read through its port. */
  readonly checksum?: (path: string) => Promise<number>;
  readonly observer?: VerifierObserver;
  readonly entriesMax?: number;
}

interface Verified {
  readonly identity: string;
  readonly crc32: number;
}

const entriesMaxDefault = 100_000;
const attemptsMax = 3;

export class FileVerifier {
  readonly #files: Files;
  readonly #checksum: (path: string) => Promise<number>;
  readonly #observer: VerifierObserver;
  readonly #entriesMax: number;
  /** Verified files by path, the least recently used first. */
  readonly #known = new Map<string, Verified>();
  readonly #underWay = new Map<string, Promise<number>>();

  constructor(options: FileVerifierOptions = {}) {
    this.#files = options.files ?? realFiles;
    const files = this.#files;
    const ofOtherDisk = async (path: string): Promise<number> => crc32Of(await files.read(path));
    this.#checksum =
      options.checksum ?? (files.read === realFiles.read ? checksumFile : ofOtherDisk);
    this.#observer = options.observer ?? silentVerifierObserver;
    this.#entriesMax = options.entriesMax ?? entriesMaxDefault;
  }

  /**
   * The actual checksum when it differs; undefined when the file is sound. Throws if it cannot be
   * read.
   */
  async mismatch(path: string, crc32: number): Promise<number | undefined> {
    const identity = await this.#identityOf(path);
    const known = this.#known.get(path);
    if (known !== undefined && known.identity === identity && known.crc32 === crc32) {
      this.#known.delete(path);
      this.#known.set(path, known);
      return undefined; // Verified already.
    }
    const found = await this.read(path);
    this.#observer.verified(found === crc32);
    return found === crc32 ? undefined : found;
  }

  /** The file's current checksum, read anew. Concurrent callers share one reading. */
  async read(path: string): Promise<number> {
    let reading = this.#underWay.get(path);
    if (reading === undefined) {
      reading = this.#read(path).finally(() => this.#underWay.delete(path));
      this.#underWay.set(path, reading);
    }
    return await reading;
  }

  forget(path: string): void {
    this.#known.delete(path);
  }

  async #read(path: string): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      const before = await this.#identityOf(path);
      const crc32 = await this.#checksum(path);
      const after = await this.#identityOf(path);
      if (before !== after && attempt < attemptsMax) continue; // Changed while it was read.
      this.#known.delete(path);
      if (before !== undefined && before === after) this.#keep(path, { identity: before, crc32 });
      return crc32;
    }
  }

  #keep(path: string, verified: Verified): void {
    this.#known.set(path, verified);
    if (this.#known.size <= this.#entriesMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  async #identityOf(path: string): Promise<string | undefined> {
    return (await this.#files.stat(path))?.identity;
  }
}

/** The notation of a checksum in messages. */
export function showCrc32(crc32: number): string {
  return crc32.toString(16).padStart(8, "0");
}
