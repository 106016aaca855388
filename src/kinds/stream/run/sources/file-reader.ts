/**
 * Reads files one after the other, in the order of their names, in read buffers of a fixed size: so
 * what a buffer holds never depends on how busy the machine is. The next buffer is read while the
 * last one is processed. A file that shrinks or is replaced meanwhile is an error (SU3).
 *
 * With `follow` the last file is read on as it grows; when a file with a greater name is there, the
 * one at hand is read to its end for the last time, and the next one follows (SU16).
 */
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { DialectError } from "../../language/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";
import { listFiles } from "./list-files.ts";
import { createFileBlocks, type FileBlocks, OpenFile } from "./open-file.ts";

export interface FileReaderOptions {
  /** A file, a directory, or a pattern. */
  readonly path: string;
  readonly bufferBytes: number;
  /** A position that an earlier reader of this path gave. */
  readonly from: string | undefined;
  readonly follow: boolean;
  readonly clock: Clock;
}

interface FilePosition {
  readonly path: string;
  readonly offset: number;
  readonly inode: string;
}

/** How often a reader that follows looks for more. */
const followMs = 100;

export async function openFileReader(options: FileReaderOptions): Promise<SourceReader> {
  const { path, bufferBytes, from, follow } = options;
  const { paths, isSingle } = await list(path);
  const blocks = createFileBlocks(bufferBytes);
  if (from === undefined) {
    const first = paths[0];
    if (first === undefined && !follow) throw noFile(path);
    const file = first === undefined ? undefined : await OpenFile.open(first, 0, blocks);
    return new FileSourceReader(options, file, isSingle, blocks);
  }
  const saved = JSON.parse(from) as FilePosition;
  const file = await OpenFile.open(isSingle ? path : saved.path, saved.offset, blocks);
  if (file.inode !== saved.inode || file.lengthAtOpen < saved.offset) {
    await file.close();
    throw new DialectError(
      4002,
      `${file.path} is not the file that the checkpoint was taken of, or it has become shorter`,
      { hint: "Put the file back, or start without the checkpoint." },
    );
  }
  return new FileSourceReader(options, file, isSingle, blocks);
}

class FileSourceReader implements SourceReader {
  readonly bounded: boolean;
  readonly startsInside: boolean;
  readonly #options: FileReaderOptions;
  readonly #isSingle: boolean;
  readonly #blocks: FileBlocks;
  readonly #closed = new AbortController();
  /** The file at hand; `undefined` until there is one. */
  #file: OpenFile | undefined;
  /** The file that follows, when the one at hand was read to its end. */
  #next: string | undefined;

  constructor(
    options: FileReaderOptions,
    file: OpenFile | undefined,
    isSingle: boolean,
    blocks: FileBlocks,
  ) {
    this.#options = options;
    this.#file = file;
    this.#isSingle = isSingle;
    this.#blocks = blocks;
    this.bounded = !options.follow;
    this.startsInside = (file?.offset ?? 0) > 0;
  }

  async read(): Promise<Reading> {
    if (this.#next !== undefined) await this.#open(this.#next);
    const reading = await this.#readFile();
    if (reading !== undefined) return reading;
    const next = await this.#findNext();
    if (next === undefined || this.#closed.signal.aborted) return await this.#wait();
    // More may have come to the file at hand before the next one was there.
    const rest = await this.#readFile();
    if (rest !== undefined) return rest;
    this.#next = next;
    return this.#file === undefined ? { kind: "idle" } : { kind: "fileEnd" };
  }

  position(pendingBytes: number): string | undefined {
    if (this.#file === undefined) return undefined;
    const { path, offset, inode } = this.#file;
    const at: FilePosition = { path, offset: offset - pendingBytes, inode };
    return JSON.stringify(at);
  }

  place(bytesBack: number): string {
    return `${this.#file?.path ?? this.#options.path}, byte ${(this.#file?.offset ?? 0) - bytesBack}`;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#file?.close();
  }

  async #open(path: string): Promise<void> {
    const opened = await OpenFile.open(path, 0, this.#blocks);
    await this.#file?.close();
    this.#file = opened;
    this.#next = undefined;
    if (this.#closed.signal.aborted) await opened.close();
  }

  /** `undefined` at the end of the file. */
  async #readFile(): Promise<Reading | undefined> {
    if (this.#closed.signal.aborted) return { kind: "end" };
    const bytes = await this.#file?.read();
    // Bytes count as read from now on, so they are given even if it was closed meanwhile.
    if (bytes !== undefined) return { kind: "bytes", bytes };
    return this.#closed.signal.aborted ? { kind: "end" } : undefined;
  }

  async #findNext(): Promise<string | undefined> {
    if (this.#isSingle) return undefined;
    const { paths } = await list(this.#options.path);
    const current = this.#file?.path;
    return current === undefined ? paths[0] : paths.find((path) => path > current);
  }

  async #wait(): Promise<Reading> {
    const { follow, clock } = this.#options;
    if (follow) await sleep(clock, followMs, this.#closed.signal);
    return { kind: follow && !this.#closed.signal.aborted ? "idle" : "end" };
  }
}

async function list(path: string): ReturnType<typeof listFiles> {
  try {
    return await listFiles(path);
  } catch (thrown) {
    throw new DialectError(4002, `${path} cannot be listed: ${messageOf(thrown)}`);
  }
}

function noFile(path: string): DialectError {
  return new DialectError(4002, `there is no file ${path}`, {
    hint: 'Wait for files with SET(TRUE AS "SOURCE".FOLLOW).',
  });
}
