/**
 * The disk, as far as our own files need it. Everything that has to survive a crash is written
 * through this port, so that a simulated disk can lose, tear and reorder what was not synced.
 *
 *   FP1  What was written to a file survives a power loss once `sync` of that file resolved, and
 *        not before.
 *   FP2  A name (new, renamed or removed) survives a power loss once `sync` of its directory
 *        resolved, and not before.
 *   FP3  After a failed `sync` nothing is known of what was written since the last one that
 *        resolved.
 *   FP4  Errors have the operating system's `code`: ENOENT, EEXIST, ENOTEMPTY, EXDEV, ENOSPC and so
 *        on.
 */

/** `new`: must not exist. `change`: must exist. `append`: writes at the end, creates if absent. */
export type OpenMode = "new" | "change" | "append";

export interface OpenFile {
  /** Writes all of `bytes`. With `append` they go to the file's end and `at` is ignored. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  truncate(length: number): Promise<void>;
  /** FP1: syncs the bytes and the length, not the times. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A file as a computing thread reads it: synchronously. */
export interface FileReader {
  readonly bytes: number;
  /** The current `FileStat.identity`. Absent when this disk does not provide one. */
  identity?(): string;
  /** Reads into the beginning of `into` and returns the number of bytes; 0 at the file's end. */
  read(into: Uint8Array, at: number): number;
  close(): void;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: FileKind;
}

export type FileKind = "file" | "directory" | "other";

export interface FileStat {
  readonly kind: FileKind;
  readonly bytes: number;
  readonly modifiedMs: number;
  /**
   * Changes whenever the file is written to or replaced. Absent when this disk does not provide it.
   */
  readonly identity?: string;
}

export interface Files {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  read(path: string): Promise<Buffer>;
  openToRead(path: string): FileReader;
  /** In no particular order. */
  list(directory: string): Promise<readonly FileEntry[]>;
  /** Undefined when nothing has that name. Links are followed. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Makes the directory and its missing parents. An existing one is no error. */
  makeDirectory(path: string): Promise<void>;
  /** Makes a directory whose name begins with `prefix` and is unique. */
  makeOwnDirectory(prefix: string): Promise<string>;
  /** Replaces an existing file. Throws EXDEV across file systems. */
  rename(from: string, to: string): Promise<void>;
  /** `to` must not exist. An aborted copy leaves a partial file. */
  copy(from: string, to: string, signal?: AbortSignal): Promise<void>;
  /** Removes one file. */
  unlink(path: string): Promise<void>;
  /** Removes an empty directory. */
  removeDirectory(path: string): Promise<void>;
  /** Removes a file, or a directory with its content. An absent path is no error. */
  removeAll(path: string): Promise<void>;
  /** FP1 for a file, whoever wrote it; FP2 for a directory. */
  sync(path: string): Promise<void>;
}
