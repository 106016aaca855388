/**
 * A file of S3 to the local disk.
 *
 *   SD1  It has the size that was asked for, and the checksum that it was put with, or it is refused.
 *   SD2  A connection that breaks in the middle is continued where it broke; bytes that turn out wrong are fetched again.
 *        Both have an end.
 *   SD3  When it returns, every byte is on the disk.
 */
import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { sleep } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { showCrc32 as showChecksum } from "./file-verifier.ts";
import { damaged, throwIfCancelled } from "./object-errors.ts";
import { checksumMetadata, placeOf, type S3Bucket } from "./s3-bucket.ts";
import { translateS3Error } from "./s3-errors.ts";

const pauseMsMin = 100;

export interface DownloadTarget {
  /** A file that is not there yet. What a failed download left of it is the caller's to delete. */
  readonly localPath: string;
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
}

/** The way the bytes come broke; those that came may be right. */
class BodyBroken extends Error {}

export async function downloadObject(
  from: S3Bucket,
  key: string,
  target: DownloadTarget,
): Promise<void> {
  const place = placeOf(from, key);
  try {
    const run = (): Promise<void> => new Download(from, key, target).run();
    await from.transfers.run(place, run, target.signal);
  } catch (thrown) {
    throw translateS3Error(thrown, place, target.signal);
  }
}

class Download {
  readonly #from: S3Bucket;
  readonly #key: string;
  readonly #place: string;
  readonly #target: DownloadTarget;
  #offset = 0;
  #checksum = 0;
  #etag: string | undefined;
  /** `undefined`: it was not put by us. */
  #checksumWanted: string | undefined;

  constructor(from: S3Bucket, key: string, target: DownloadTarget) {
    this.#from = from;
    this.#key = key;
    this.#place = placeOf(from, key);
    this.#target = target;
  }

  async run(): Promise<void> {
    const file = await open(this.#target.localPath, "wx");
    try {
      const { clock, limits } = this.#from;
      for (let attempt = 1; ; attempt += 1) {
        const fault = await this.#attempt(file);
        if (fault === undefined) break;
        throwIfCancelled(this.#place, this.#target.signal);
        if (attempt === limits.attemptsMax) throw fault; // SD2
        await sleep(clock, pauseMsMin * 2 ** (attempt - 1), this.#target.signal);
      }
      await file.sync(); // SD3
    } finally {
      await file.close();
    }
  }

  /** Gives what is worth another attempt, throws what is not. */
  async #attempt(file: FileHandle): Promise<Error | undefined> {
    const body = await this.#request();
    try {
      for await (const chunk of chunksOf(body)) await this.#write(file, chunk);
    } catch (thrown) {
      if (!(thrown instanceof BodyBroken)) throw thrown;
      // The SDK compares with the server's own checksum, and has only words to say that it differs.
      const isWrong = /checksum mismatch/i.test(thrown.message);
      if (isWrong || this.#offset >= this.#target.sizeBytes) this.#restart();
      return isWrong ? damaged(this.#place, thrown.message) : thrown;
    } finally {
      body.destroy();
    }
    if (this.#offset < this.#target.sizeBytes) return new BodyBroken("the answer ended too early");
    const got = showChecksum(this.#checksum);
    if (this.#checksumWanted === undefined || this.#checksumWanted === got) return undefined;
    this.#restart();
    return damaged(this.#place, `its checksum is ${got} instead of ${this.#checksumWanted}`); // SD1
  }

  async #request(): Promise<Readable> {
    const { sdk, client, bucket } = this.#from;
    const rest = this.#offset === 0 ? {} : { Range: `bytes=${this.#offset}-` };
    const same = this.#offset === 0 || this.#etag === undefined ? {} : { IfMatch: this.#etag };
    const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: this.#key, ...rest, ...same });
    const answer = await client.send(command, { abortSignal: this.#target.signal });
    const body: unknown = answer.Body;
    if (!(body instanceof Readable)) throw new Error("the answer has no body");
    this.#etag ??= answer.ETag;
    this.#checksumWanted ??= answer.Metadata?.[checksumMetadata];
    const sizeBytes = this.#offset + (answer.ContentLength ?? 0);
    if (sizeBytes !== this.#target.sizeBytes) {
      body.destroy();
      const sizes = `it has ${sizeBytes} bytes instead of ${this.#target.sizeBytes}`;
      throw damaged(this.#place, sizes); // SD1
    }
    return body;
  }

  async #write(file: FileHandle, chunk: Uint8Array): Promise<void> {
    for (let from = 0; from < chunk.length; ) {
      const at = this.#offset + from;
      from += (await file.write(chunk, from, chunk.length - from, at)).bytesWritten;
    }
    this.#checksum = crc32(chunk, this.#checksum);
    this.#offset += chunk.length;
  }

  #restart(): void {
    this.#offset = 0;
    this.#checksum = 0;
  }
}

/** What the consumer throws is not the body's fault, and does not come through here. */
async function* chunksOf(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (thrown) {
    throw new BodyBroken(messageOf(thrown), { cause: thrown });
  }
}
