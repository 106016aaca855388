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

/**
 * `new`: a file that must not exist. `change`: one that must. `append`: at its end; made where it
 * does not exist.
 */
export type OpenMode = "new" | "change" | "append";

export interface OpenFile {
  /** All of `bytes`. With `append` the place is the file's end, whatever `at` says. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  truncate(length: number): Promise<void>;
  /** FP1: the bytes and the length, not the times. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A file as a computing thread reads it: at once. */
export interface FileReader {
  readonly bytes: number;
  /** As `FileStat.identity`, of now; absent: this disk does not say. */
  identity?(): string;
  /** How many bytes were read to the beginning of `into`; 0 at the file's end. */
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
  /** Another text whenever the file was written to or replaced. Absent: this disk does not say. */
  readonly identity?: string;
}

export interface Files {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  read(path: string): Promise<Buffer>;
  openToRead(path: string): FileReader;
  /** In no order. */
  list(directory: string): Promise<readonly FileEntry[]>;
  /** `undefined`: there is nothing of that name. Links are followed. */
  stat(path: string): Promise<FileStat | undefined>;
  /** With those above it. One that exists is no error. */
  makeDirectory(path: string): Promise<void>;
  /** A directory whose name begins with `prefix` and is nobody else's. */
  makeOwnDirectory(prefix: string): Promise<string>;
  /** Within one file system: otherwise EXDEV. A file in the way is replaced. */
  rename(from: string, to: string): Promise<void>;
  /** To a file that must not exist; an abort leaves a part of it. */
  copy(from: string, to: string, signal?: AbortSignal): Promise<void>;
  /** Of one file. */
  unlink(path: string): Promise<void>;
  /** Of a directory that must be empty. */
  removeDirectory(path: string): Promise<void>;
  /** A file, or a directory and all that is in it. What is not there is no error. */
  removeAll(path: string): Promise<void>;
  /** FP1 of a file, whoever wrote it; FP2 of a directory. */
  sync(path: string): Promise<void>;
}
