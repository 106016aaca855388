/**
 * One file that is being read in whole buffers. Several of them are read from the disk at once, as
 * a block, because every read of its own costs a way to another thread and back; the next block is
 * read ahead.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { DialectError } from "../../language/core/index.ts";

/** A block has a few buffers, as long as it is not larger than this. */
const buffersPerBlock = 4;
const blockBytesMax = 1_024 * 1_024;

/** Two blocks, for files that are read one after the other. */
export interface FileBlocks {
  readonly bufferBytes: number;
  readonly blocks: readonly [Uint8Array, Uint8Array];
}

export function createFileBlocks(bufferBytes: number): FileBlocks {
  const count = bufferBytes * buffersPerBlock <= blockBytesMax ? buffersPerBlock : 1;
  const length = bufferBytes * count;
  return { bufferBytes, blocks: [new Uint8Array(length), new Uint8Array(length)] };
}

export class OpenFile {
  readonly path: string;
  /** What tells the file from another one with its name. */
  readonly inode: string;
  readonly lengthAtOpen: number;
  readonly #handle: FileHandle;
  readonly #bufferBytes: number;
  readonly #blocks: readonly [Uint8Array, Uint8Array];
  /** The block that is read next. */
  #turn = 0;
  /** What of the last block was not given to the caller yet. */
  #rest: Uint8Array = new Uint8Array(0);
  #offset: number;
  #ahead: Promise<number> | undefined;
  #isClosed = false;

  private constructor(
    path: string,
    handle: FileHandle,
    { inode, length }: { readonly inode: string; readonly length: number },
    offset: number,
    { bufferBytes, blocks }: FileBlocks,
  ) {
    this.path = path;
    this.inode = inode;
    this.lengthAtOpen = length;
    this.#handle = handle;
    this.#offset = offset;
    this.#bufferBytes = bufferBytes;
    this.#blocks = blocks;
  }

  /** The caller lends the blocks, and uses them for one file at a time. */
  static async open(path: string, offset: number, blocks: FileBlocks): Promise<OpenFile> {
    let handle: FileHandle;
    try {
      handle = await open(path, "r");
    } catch (thrown) {
      throw new DialectError(4002, `the file ${path} cannot be opened: ${messageOf(thrown)}`);
    }
    const found = await handle.stat();
    if (!found.isFile()) {
      await handle.close();
      throw new DialectError(4002, `${path} is no file`);
    }
    const about = { inode: `${found.dev}:${found.ino}`, length: found.size };
    return new OpenFile(path, handle, about, offset, blocks);
  }

  /** Behind the last bytes that were given to the caller. */
  get offset(): number {
    return this.#offset;
  }

  /** Bytes that are valid until the next call; `undefined` at the end, which may move. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#isClosed) return undefined;
    if (this.#rest.length === 0) {
      // `close` waits for it: a handle that is closed between two reads of a block fails.
      this.#ahead ??= this.#fill(this.#offset);
      const count = await this.#ahead;
      this.#ahead = undefined;
      if (this.#isClosed) return undefined;
      if (count === 0) {
        await this.#checkFile();
        return undefined;
      }
      const block = this.#blocks[this.#turn === 0 ? 0 : 1];
      this.#rest = block.subarray(0, count);
      this.#turn = 1 - this.#turn;
      if (count === block.length) {
        this.#ahead = this.#fill(this.#offset + count);
        this.#ahead.catch(() => undefined); // The next call meets the error.
      }
    }
    const bytes = this.#rest.subarray(0, this.#bufferBytes);
    this.#rest = this.#rest.subarray(bytes.length);
    this.#offset += bytes.length;
    return bytes;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#ahead?.catch(() => undefined);
    await this.#handle.close();
  }

  /** Fills the block whose turn it is; less than a whole one only at the end of the file. */
  async #fill(from: number): Promise<number> {
    const block = this.#blocks[this.#turn === 0 ? 0 : 1];
    let filled = 0;
    while (filled < block.length) {
      const { bytesRead } = await this.#handle.read(
        block,
        filled,
        block.length - filled,
        from + filled,
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }

  async #checkFile(): Promise<void> {
    const { size } = await this.#handle.stat();
    if (size < this.#offset) {
      throw new DialectError(
        4000,
        `${this.path} became shorter while it was read: it has ${size} bytes, and ` +
          `${this.#offset} were read`,
      );
    }
    const now = await stat(this.path).catch(() => undefined);
    if (now !== undefined && `${now.dev}:${now.ino}` === this.inode) return;
    const what = now === undefined ? "deleted" : "replaced by another file";
    throw new DialectError(4000, `${this.path} was ${what} while it was read`);
  }
}
