/**
 * Where the lake's files are: a directory, or S3. Files never change once they are there; a name is used once.
 *
 *   OS1  `put` is all or nothing: a reader sees the whole file or none.
 *   OS2  Names are as `LakeModel` says (LM2): relative, forward slashes, no `..`; anything else is refused.
 *   OS3  What is deleted twice, or was never there, is deleted.
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
  /** What the file's bytes must have; absent: nobody knows. */
  readonly crc32?: number;
  /** Somebody found other bytes: it is read whole again, whatever this process knows of it. */
  readonly isDamaged?: boolean;
  /** Who needs it, for log lines. */
  readonly fields?: LogFields;
}

export interface PutFile {
  /** Of the bytes that were put. */
  readonly crc32: number;
}

export interface ObjectStore {
  readonly kind: "directory" | "s3";
  /** From a local file, which is moved or copied. */
  put(path: string, localFile: string, signal?: AbortSignal): Promise<PutFile>;
  /**
   * A local path of the whole file: its own place in a directory, a copy in the download cache for
   * S3. `release` when read.
   * OS4: with a checksum, what is given has it, or it is `data_corrupt`.
   */
  fetch(file: NeededFile, signal?: AbortSignal): Promise<LocalCopy>;
  /**
   * Of the file as it is stored now, for the scrub: all of its bytes are read, from the directory or
   * from S3, and none of them is kept. `undefined`: it is not there. What is known to be damaged
   * without it (S3 keeps a checksum with the file) is `data_corrupt`.
   */
  checksum(path: string, signal?: AbortSignal): Promise<number | undefined>;
  /**
   * Room for local copies of all of these together, until it is released; `fetch` each meanwhile. Whoever reads several files
   * asks for it first, and for all at once: one who waits holds nothing, so that two never wait for each other.
   */
  reserve(files: readonly NeededFile[], signal?: AbortSignal): Promise<Reservation>;
  /** `undefined`: not there. */
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
