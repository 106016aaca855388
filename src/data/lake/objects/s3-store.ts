/**
 * The lake's files in S3 or a compatible server. Reads go through the download cache. Every request
 * is bounded by `S3Limits`. Errors name bucket and key, and say whether a retry may help. Rules:
 * LO1 to LO6.
 */
import type { ObjectIdentifier } from "@aws-sdk/client-s3";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type {
  LocalCopy,
  NeededFile,
  ObjectInfo,
  ObjectStore,
  PutFile,
  Reservation,
} from "../core/index.ts";
import type { FileCache, WantedFile } from "./download-cache.ts";
import { throwIfCancelled } from "./object-errors.ts";
import { checkObjectPath, checkObjectPrefix, isObjectPath } from "./object-path.ts";
import { connectBucket, placeOf, type S3Bucket, type S3Options } from "./s3-bucket.ts";
import { checksumObject, downloadObject } from "./s3-download.ts";
import { isMissingKey, translateS3Error } from "./s3-errors.ts";
import { uploadFile } from "./s3-upload.ts";

export interface S3ObjectStore extends ObjectStore {
  readonly kind: "s3";
  /** Throws if the bucket is missing or inaccessible. Called when a process starts. */
  check(): Promise<void>;
  /** Closes the connections. Transfers under way fail. */
  close(): void;
}

/** S3's limit of names in one request. */
const deletionsMax = 1_000;

/** Sends no request yet. */
export async function openS3Store(options: S3Options, cache: FileCache): Promise<S3ObjectStore> {
  const { bucket, prefix, endpoint } = options;
  // Two lakes may share a cache, so the key includes the bucket.
  const identity = `${endpoint ?? ""} ${bucket} ${prefix}`;
  return new BucketStore(await connectBucket(options), prefix, identity, cache);
}

class BucketStore implements S3ObjectStore {
  readonly kind = "s3";
  readonly #bucket: S3Bucket;
  /** Empty, or with a trailing slash. */
  readonly #prefix: string;
  readonly #identity: string;
  readonly #cache: FileCache;

  constructor(bucket: S3Bucket, prefix: string, identity: string, cache: FileCache) {
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.#identity = identity;
    this.#cache = cache;
  }

  async check(): Promise<void> {
    const { sdk, client, bucket } = this.#bucket;
    // The error of HeadBucket has no body and so no reason.
    const command = new sdk.ListObjectsV2Command({
      Bucket: bucket,
      Prefix: this.#prefix,
      MaxKeys: 1,
    });
    await this.#translated("", () => client.send(command));
  }

  async put(path: string, localFile: string, signal?: AbortSignal): Promise<PutFile> {
    checkObjectPath(path);
    return await uploadFile(this.#bucket, this.#keyOf(path), localFile, signal);
  }

  async fetch(file: NeededFile, signal?: AbortSignal): Promise<LocalCopy> {
    const { path, sizeBytes } = file;
    checkObjectPath(path);
    throwIfCancelled(placeOf(this.#bucket, this.#keyOf(path)), signal);
    return await this.#cache.get(
      this.#wanted(file),
      (localPath, ended) =>
        downloadObject(this.#bucket, this.#keyOf(path), { localPath, sizeBytes, signal: ended }),
      signal,
    );
  }

  async checksum(path: string, signal?: AbortSignal): Promise<number | undefined> {
    checkObjectPath(path);
    try {
      return await checksumObject(this.#bucket, this.#keyOf(path), signal);
    } catch (thrown) {
      if (thrown instanceof OperatingError && thrown.code === "not_found") return undefined;
      throw thrown;
    }
  }

  async reserve(files: readonly NeededFile[], signal?: AbortSignal): Promise<Reservation> {
    for (const { path } of files) checkObjectPath(path);
    return await this.#cache.reserve(
      files.map((file) => this.#wanted(file)),
      signal,
    );
  }

  async stat(path: string): Promise<ObjectInfo | undefined> {
    checkObjectPath(path);
    const { sdk, client, bucket } = this.#bucket;
    const command = new sdk.HeadObjectCommand({ Bucket: bucket, Key: this.#keyOf(path) });
    return await this.#translated(path, async () => {
      try {
        const found = await client.send(command);
        return infoOf(path, found.ContentLength, found.LastModified);
      } catch (thrown) {
        if (isMissingKey(thrown)) return undefined;
        throw thrown;
      }
    });
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    checkObjectPrefix(prefix);
    const { sdk, client, bucket, limits } = this.#bucket;
    let next: string | undefined;
    do {
      const command = new sdk.ListObjectsV2Command({
        Bucket: bucket,
        Prefix: this.#keyOf(prefix),
        MaxKeys: limits.listPageMax,
        ...(next === undefined ? {} : { ContinuationToken: next }),
      });
      const page = await this.#translated(prefix, () => client.send(command));
      for (const { Key: key, Size: size, LastModified: modified } of page.Contents ?? []) {
        const path = key?.slice(this.#prefix.length);
        // Consoles create "folders": objects whose names no file of the lake has.
        if (path !== undefined && isObjectPath(path)) yield infoOf(path, size, modified);
      }
      next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (next !== undefined);
  }

  async delete(paths: readonly string[]): Promise<void> {
    for (const path of paths) checkObjectPath(path); // No file is deleted if any name is refused.
    for (let from = 0; from < paths.length; from += deletionsMax) {
      await this.#deleteSome(paths.slice(from, from + deletionsMax));
    }
  }

  close(): void {
    this.#bucket.client.destroy();
  }

  async #deleteSome(paths: readonly string[]): Promise<void> {
    const { sdk, client, bucket } = this.#bucket;
    const objects = paths.map((path): ObjectIdentifier => ({ Key: this.#keyOf(path) }));
    const command = new sdk.DeleteObjectsCommand({
      Bucket: bucket,
      Delete: { Objects: objects, Quiet: true },
    });
    const { Errors: errors = [] } = await this.#translated("", () => client.send(command));
    const failed = errors.filter(({ Code: code }) => code !== "NoSuchKey");
    const [first] = failed;
    if (first === undefined) return;
    const place = placeOf(this.#bucket, first.Key ?? "");
    const message = `${failed.length} lake files were not deleted; ${place}: ${first.Code}`;
    const retry = first.Code === "AccessDenied" ? "never" : "backoff";
    throw new OperatingError("store_unavailable", retry, message);
  }

  async #translated<T>(path: string, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (thrown) {
      throw translateS3Error(thrown, placeOf(this.#bucket, this.#keyOf(path)));
    }
  }

  #wanted({ path, ...file }: NeededFile): WantedFile {
    return { key: `${this.#identity}\n${path}`, place: path, ...file };
  }

  #keyOf(path: string): string {
    return this.#prefix + path;
  }
}

function infoOf(path: string, size: number | undefined, modified: Date | undefined): ObjectInfo {
  return { path, sizeBytes: size ?? 0, modifiedMs: modified?.getTime() ?? 0 };
}
