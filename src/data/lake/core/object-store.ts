/**
 * Where the lake's files are: a directory, or S3. Files never change, and a name is used once.
 * Rules: LO1 to LO6.
 */
import type { LogFields } from "../../../ground/kernel/logger.ts";

export interface ObjectInfo {
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

export interface NeededFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** The checksum that the file must have; absent while unknown. */
  readonly crc32?: number;
  /** Set when other bytes were found: the file is then read whole again. */
  readonly isDamaged?: boolean;
  /** Who needs the file, for log lines. */
  readonly fields?: LogFields;
}

export interface PutFile {
  /** The checksum of the bytes that were put. */
  readonly crc32: number;
}

export interface ObjectStore {
  readonly kind: "directory" | "s3";
  /** Moves or copies a local file into the store. */
  put(path: string, localFile: string, signal?: AbortSignal): Promise<PutFile>;
  /**
   * A local path of the whole file: its own place in a directory, or a copy in the download cache
   * for S3. The caller calls `release` when done. A file with another checksum than the given one
   * is `data_corrupt`.
   */
  fetch(file: NeededFile, signal?: AbortSignal): Promise<LocalCopy>;
  /**
   * Computes the checksum of the stored file for the scrub: reads all bytes from the directory or
   * S3 and keeps none. Undefined when the file is not there. `data_corrupt` when S3's own checksum
   * of the file shows damage.
   */
  checksum(path: string, signal?: AbortSignal): Promise<number | undefined>;
  /**
   * Reserves room for local copies of all these files until it is released; the caller then fetches
   * each. A reader of several files reserves all at once: a waiting reader holds nothing, so two
   * never wait for each other.
   */
  reserve(files: readonly NeededFile[], signal?: AbortSignal): Promise<Reservation>;
  /** Undefined when the file is not there. */
  stat(path: string): Promise<ObjectInfo | undefined>;
  list(prefix: string): AsyncIterable<ObjectInfo>;
  delete(paths: readonly string[]): Promise<void>;
}

export interface Reservation {
  release(): void;
}

export interface LocalCopy {
  readonly localPath: string;
  release(): void;
}
