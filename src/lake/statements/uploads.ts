/**
 * Files that people send for COPY, on their way into the lake: received in chunks, in order, on this process's disk.
 *
 *   UP1  Chunks are taken in order, each once: one that was taken already (its answer was lost) is answered again, one that
 *        leaves a gap is refused.
 *   UP2  An upload that nobody adds to or uses for `idleMsMax` is deleted; so is what an earlier run of this process left.
 *   UP3  All of them together stay within `bytesMax`.
 */
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import { type Prng, randomText } from "../../kernel/prng.ts";
import { translateFsError } from "../../queries/index.ts";

export interface UploadsOptions {
  /** Of this process alone. */
  readonly dir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly bytesMax?: number;
  readonly idleMsMax?: number;
}

export interface ReceivedFile {
  readonly localPath: string;
  readonly sizeBytes: number;
}

interface Upload {
  readonly localPath: string;
  sizeBytes: number;
  idle: Timer | undefined;
  /** Chunks take turns. */
  turn: Promise<unknown>;
}

const bytesMaxDefault = 20 * 1024 ** 3;
const idleMsMaxDefault = 600_000;
const uploadsMax = 64;

export async function openUploads(options: UploadsOptions): Promise<Uploads> {
  await rm(options.dir, { recursive: true, force: true }); // UP2
  await mkdir(options.dir, { recursive: true });
  return new Uploads(options);
}

export class Uploads {
  readonly #options: UploadsOptions;
  readonly #uploads = new Map<string, Upload>();

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  begin(): string {
    if (this.#uploads.size >= uploadsMax) {
      throw new OperatingError("overloaded", "backoff", `${uploadsMax} uploads are under way`);
    }
    const id = `upload-${randomText(this.#options.prng, 16)}`;
    const localPath = join(this.#options.dir, id);
    const upload = { localPath, sizeBytes: 0, idle: undefined, turn: Promise.resolve() };
    this.#uploads.set(id, upload);
    this.#watch(id, upload);
    return id;
  }

  /** The size after it. */
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
    await rm(upload.localPath, { force: true });
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#uploads.keys(), (id) => this.discard(id)));
  }

  async #append(id: string, upload: Upload, offset: number, bytes: Uint8Array): Promise<number> {
    this.#watch(id, this.#require(id));
    if (offset + bytes.length <= upload.sizeBytes) return upload.sizeBytes; // UP1
    if (offset !== upload.sizeBytes) {
      const message = `the upload has ${upload.sizeBytes} bytes, and this chunk begins at ${offset}`;
      throw new OperatingError("bad_request", "never", message);
    }
    this.#checkRoom(bytes.length);
    try {
      const file = await open(upload.localPath, "a");
      try {
        await file.writeFile(bytes);
      } finally {
        await file.close();
      }
    } catch (thrown) {
      await this.discard(id).catch(() => undefined); // Nobody knows how much of the chunk is there.
      throw translateFsError(thrown);
    }
    upload.sizeBytes += bytes.length;
    return upload.sizeBytes;
  }

  /** UP3. */
  #checkRoom(bytes: number): void {
    const bytesMax = this.#options.bytesMax ?? bytesMaxDefault;
    let used = 0;
    for (const { sizeBytes } of this.#uploads.values()) used += sizeBytes;
    if (used + bytes <= bytesMax) return;
    const message = `uploads have ${used} of ${bytesMax} bytes, and ${bytes} more do not fit`;
    throw new OperatingError("disk_full", "backoff", message);
  }

  /** UP2. */
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
    const hint = "uploads end when nothing is added to them for ten minutes, and with the process";
    throw new OperatingError("not_found", "never", `there is no upload ${id}`, { hint });
  }
}
