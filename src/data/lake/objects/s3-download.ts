/**
 * Reads a whole object of S3, to the local disk or only to compute its checksum.
 *
 * An object without the expected size and checksum is refused. A broken connection is resumed where
 * it broke; wrong bytes are fetched again, up to `attemptsMax`. Bytes that are wrong twice in the
 * same way are stored that way.
 */

import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { showCrc32 as showChecksum } from "./file-verifier.ts";
import { damaged, throwIfCancelled } from "./object-errors.ts";
import { checksumMetadata, placeOf, type S3Bucket } from "./s3-bucket.ts";
import { translateS3Error } from "./s3-errors.ts";

const pause = { minMs: 100, maxMs: 5_000 };

export interface DownloadTarget {
  /** A path without a file. The caller deletes what a failed download leaves there. */
  readonly localPath: string;
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
}

/** The transfer broke. The bytes received so far may be right. */
class BodyBroken extends Error {}

export async function downloadObject(
  from: S3Bucket,
  key: string,
  { localPath, sizeBytes, signal }: DownloadTarget,
): Promise<void> {
  await transfer(from, key, signal, async () => {
    const file = await open(localPath, "wx");
    try {
      await new Reading(from, key, (chunk, at) => writeAll(file, chunk, at), {
        sizeBytes,
        signal,
      }).run();
      await file.sync();
    } finally {
      await file.close();
    }
  });
}

/** Computes the checksum of the object's stored bytes and keeps none of them. */
export async function checksumObject(
  from: S3Bucket,
  key: string,
  signal?: AbortSignal,
): Promise<number> {
  const nowhere = (): Promise<void> => Promise.resolve();
  return await transfer(from, key, signal, () => new Reading(from, key, nowhere, { signal }).run());
}

async function transfer<T>(
  from: S3Bucket,
  key: string,
  signal: AbortSignal | undefined,
  read: () => Promise<T>,
): Promise<T> {
  const place = placeOf(from, key);
  try {
    return await from.transfers.run(place, read, signal);
  } catch (thrown) {
    throw translateS3Error(thrown, place, signal);
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, at: number): Promise<void> {
  for (let from = 0; from < chunk.length; ) {
    from += (await file.write(chunk, from, chunk.length - from, at + from)).bytesWritten;
  }
}

/** Takes an object's bytes in order, and again from the start after wrong bytes. */
type Sink = (chunk: Uint8Array, at: number) => Promise<void>;

class Reading {
  readonly #from: S3Bucket;
  readonly #key: string;
  readonly #place: string;
  readonly #sink: Sink;
  readonly #signal: AbortSignal | undefined;
  /** Undefined until the first answer gives it. */
  #sizeBytes: number | undefined;
  #offset = 0;
  #checksum = 0;
  #etag: string | undefined;
  /** Undefined when we did not put the object. */
  #checksumWanted: string | undefined;

  constructor(
    from: S3Bucket,
    key: string,
    sink: Sink,
    {
      sizeBytes,
      signal,
    }: { readonly sizeBytes?: number; readonly signal?: AbortSignal | undefined },
  ) {
    this.#from = from;
    this.#key = key;
    this.#place = placeOf(from, key);
    this.#sink = sink;
    this.#sizeBytes = sizeBytes;
    this.#signal = signal;
  }

  /** Returns the checksum. */
  async run(): Promise<number> {
    const { clock, limits } = this.#from;
    let damage: string | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const fault = await this.#attempt();
      if (fault === undefined) return this.#checksum;
      throwIfCancelled(this.#place, this.#signal);
      const isStoredSo = fault instanceof OperatingError && fault.message === damage;
      if (attempt === limits.attemptsMax || isStoredSo) throw fault;
      damage = fault instanceof OperatingError ? fault.message : damage;
      await sleep(clock, backoffMs(pause, attempt), this.#signal);
    }
  }

  /** Returns an error worth another attempt, and throws any other. */
  async #attempt(): Promise<Error | undefined> {
    const [body, sizeBytes] = await this.#request();
    try {
      for await (const chunk of chunksOf(body)) await this.#take(chunk);
    } catch (thrown) {
      if (!(thrown instanceof BodyBroken)) throw thrown;
      // The SDK compares with the server's checksum, and reports a difference only in its message.
      const isWrong = /checksum mismatch/i.test(thrown.message);
      if (isWrong || this.#offset >= sizeBytes) this.#restart();
      return isWrong ? damaged(this.#place, thrown.message) : thrown;
    } finally {
      body.destroy();
    }
    if (this.#offset < sizeBytes) return new BodyBroken("the answer ended too early");
    const got = showChecksum(this.#checksum);
    if (this.#checksumWanted === undefined || this.#checksumWanted === got) return undefined;
    this.#restart();
    return damaged(this.#place, `its checksum is ${got} instead of ${this.#checksumWanted}`);
  }

  /** Requests the remaining bytes. Also returns the size of the whole object. */
  async #request(): Promise<readonly [body: Readable, sizeBytes: number]> {
    const { sdk, client, bucket } = this.#from;
    const rest = this.#offset === 0 ? {} : { Range: `bytes=${this.#offset}-` };
    const same = this.#offset === 0 || this.#etag === undefined ? {} : { IfMatch: this.#etag };
    const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: this.#key, ...rest, ...same });
    const abort = this.#signal === undefined ? {} : { abortSignal: this.#signal };
    const answer = await client.send(command, abort);
    const body: unknown = answer.Body;
    if (!(body instanceof Readable)) throw new Error("the answer has no body");
    this.#etag ??= answer.ETag;
    this.#checksumWanted ??= answer.Metadata?.[checksumMetadata];
    const sizeBytes = this.#offset + (answer.ContentLength ?? 0);
    this.#sizeBytes ??= sizeBytes;
    if (sizeBytes !== this.#sizeBytes) {
      body.destroy();
      const sizes = `it has ${sizeBytes} bytes instead of ${this.#sizeBytes}`;
      throw damaged(this.#place, sizes);
    }
    return [body, sizeBytes];
  }

  async #take(chunk: Uint8Array): Promise<void> {
    await this.#sink(chunk, this.#offset);
    this.#checksum = crc32(chunk, this.#checksum);
    this.#offset += chunk.length;
  }

  #restart(): void {
    this.#offset = 0;
    this.#checksum = 0;
  }
}

/** Translates errors of the body only, not those that the consumer throws. */
async function* chunksOf(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (thrown) {
    throw new BodyBroken(messageOf(thrown), { cause: thrown });
  }
}
