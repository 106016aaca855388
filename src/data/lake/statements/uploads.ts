/**
 * Files that people send for COPY, received in chunks on this process's disk. Chunks are taken in
 * order: a repeated one is answered again, one that leaves a gap is refused. Uploads that nobody
 * adds to or uses for `idleMsMax` are deleted, as are those of an earlier process. All together
 * stay within `bytesMax` (LS11).
 */
import { join } from "node:path";
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import { translateFsError } from "../../../ground/work/index.ts";

export interface UploadsOptions {
  readonly files?: Files;
  /** Used by this process alone. */
  readonly dir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly bytesMax?: number;
  readonly idleMsMax?: number;
  readonly uploadsMax?: number;
}

export interface ReceivedFile {
  readonly localPath: string;
  readonly sizeBytes: number;
}

interface Upload {
  readonly localPath: string;
  sizeBytes: number;
  idle: Timer | undefined;
  /** Chunks are written one after the other. */
  turn: Promise<unknown>;
}

const bytesMaxDefault = 20 * 1024 ** 3;
const idleMsMaxDefault = 600_000;
const uploadsMaxDefault = 64;

export async function openUploads(options: UploadsOptions): Promise<Uploads> {
  const files = options.files ?? realFiles;
  await files.removeAll(options.dir); // Left by an earlier process.
  await files.makeDirectory(options.dir);
  return new Uploads(options);
}

export class Uploads {
  readonly #files: Files;
  readonly #options: UploadsOptions;
  readonly #uploads = new Map<string, Upload>();
  /** The bytes of chunks being written, which no upload counts yet. */
  #writingBytes = 0;

  constructor(options: UploadsOptions) {
    this.#files = options.files ?? realFiles;
    this.#options = options;
  }

  begin(): string {
    const { uploadsMax = uploadsMaxDefault } = this.#options;
    if (this.#uploads.size >= uploadsMax) {
      const message = `too many uploads are under way; the limit uploads is ${uploadsMax}`;
      throw new OperatingError("overloaded", "backoff", message);
    }
    const id = `upload-${randomText(this.#options.prng, 16)}`;
    const localPath = join(this.#options.dir, id);
    const upload = { localPath, sizeBytes: 0, idle: undefined, turn: Promise.resolve() };
    this.#uploads.set(id, upload);
    this.#watch(id, upload);
    return id;
  }

  /** Returns the upload's size afterwards. */
  append(id: string, offset: number, bytes: Uint8Array): Promise<number> {
    const upload = this.#require(id);
    const appended = upload.turn.then(() => this.#append(id, upload, offset, bytes));
    upload.turn = appended.catch(() => undefined);
    return appended;
  }

  received(id: string): ReceivedFile {
    const upload = this.#require(id);
    this.#watch(id, upload);
    return { localPath: upload.localPath, sizeBytes: upload.sizeBytes };
  }

  async discard(id: string): Promise<void> {
    const upload = this.#uploads.get(id);
    if (upload === undefined) return;
    this.#uploads.delete(id);
    upload.idle?.cancel();
    await upload.turn;
    await this.#files.removeAll(upload.localPath);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#uploads.keys(), (id) => this.discard(id)));
  }

  async #append(id: string, upload: Upload, offset: number, bytes: Uint8Array): Promise<number> {
    this.#watch(id, this.#require(id));
    if (offset + bytes.length <= upload.sizeBytes) return upload.sizeBytes; // Repeated.
    if (offset !== upload.sizeBytes) {
      const message = `the upload has ${upload.sizeBytes} bytes, and this chunk begins at ${offset}`;
      throw new OperatingError("bad_request", "never", message);
    }
    this.#checkRoom(bytes.length);
    this.#writingBytes += bytes.length;
    try {
      const file = await this.#files.open(upload.localPath, "append");
      try {
        await file.write(bytes, offset);
      } finally {
        await file.close();
      }
    } catch (thrown) {
      await this.discard(id).catch(() => undefined); // Its length is unknown.
      throw translateFsError(thrown);
    } finally {
      this.#writingBytes -= bytes.length;
    }
    upload.sizeBytes += bytes.length;
    return upload.sizeBytes;
  }

  /** Throws if the uploads together would exceed `bytesMax`. */
  #checkRoom(bytes: number): void {
    const bytesMax = this.#options.bytesMax ?? bytesMaxDefault;
    let used = this.#writingBytes;
    for (const { sizeBytes } of this.#uploads.values()) used += sizeBytes;
    if (used + bytes <= bytesMax) return;
    const message = `uploads have ${used} bytes, and ${bytes} more do not fit; the limit upload_bytes is ${bytesMax}`;
    throw new OperatingError("disk_full", "backoff", message);
  }

  /** Deletes the upload after `idleMsMax`. */
  #watch(id: string, upload: Upload): void {
    upload.idle?.cancel();
    const idleMsMax = this.#options.idleMsMax ?? idleMsMaxDefault;
    upload.idle = this.#options.clock.after(idleMsMax, () => {
      void this.discard(id).catch(() => undefined);
    });
  }

  #require(id: string): Upload {
    const upload = this.#uploads.get(id);
    if (upload !== undefined) return upload;
    const seconds = (this.#options.idleMsMax ?? idleMsMaxDefault) / 1_000;
    const hint = `uploads end when nothing is added to them for ${seconds} s (the limit upload_idle_seconds), and with the process`;
    throw new OperatingError("not_found", "never", `there is no upload ${id}`, { hint });
  }
}
