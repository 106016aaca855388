/**
 * Uploads a local file to S3, in one request or in parts (LO6). A completion whose answer was lost
 * is looked up: an object with our size and checksum counts. Parts left by a process that died are
 * deleted by the bucket's own rule (AbortIncompleteMultipartUpload).
 */
import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { PutFile } from "../core/index.ts";
import { showCrc32 as showChecksum } from "./file-verifier.ts";
import { cancelled, throwIfCancelled, translateFileError } from "./object-errors.ts";
import { checksumMetadata, placeOf, type S3Bucket } from "./s3-bucket.ts";
import { isMissingUpload, translateS3Error } from "./s3-errors.ts";

/** S3's limit. */
const partCountMax = 10_000;
const checksumChunkBytes = 1024 ** 2;

interface Upload {
  readonly to: S3Bucket;
  readonly key: string;
  readonly place: string;
  readonly file: FileHandle;
  readonly sizeBytes: number;
  readonly signal: AbortSignal | undefined;
}

interface Part {
  readonly PartNumber: number;
  readonly ETag?: string;
  readonly ChecksumCRC32?: string;
}

export async function uploadFile(
  to: S3Bucket,
  key: string,
  localFile: string,
  signal?: AbortSignal,
): Promise<PutFile> {
  const place = placeOf(to, key);
  throwIfCancelled(place, signal);
  const file = await open(localFile, "r").catch((thrown: unknown) => {
    throw translateFileError(thrown, localFile);
  });
  try {
    const { size: sizeBytes } = await file.stat();
    const upload: Upload = { to, key, place, file, sizeBytes, signal };
    const isSmall = sizeBytes <= to.limits.partBytes;
    return { crc32: await (isSmall ? uploadWhole(upload) : uploadByParts(upload)) };
  } catch (thrown) {
    throw translateS3Error(thrown, place, signal);
  } finally {
    await file.close();
  }
}

async function uploadWhole({ to, key, place, file, sizeBytes, signal }: Upload): Promise<number> {
  const send = async (): Promise<number> => {
    const body = await readExactly(file, 0, sizeBytes);
    const checksum = crc32(body);
    const command = new to.sdk.PutObjectCommand({
      Bucket: to.bucket,
      Key: key,
      Body: body,
      ContentLength: sizeBytes,
      Metadata: { [checksumMetadata]: showChecksum(checksum) },
    });
    await to.client.send(command, abortable(signal));
    return checksum;
  };
  return await to.transfers.run(place, send, signal);
}

async function uploadByParts(upload: Upload): Promise<number> {
  const { to, key, signal } = upload;
  const crc = await checksumOf(upload);
  const checksum = showChecksum(crc);
  const begun = await to.client.send(
    new to.sdk.CreateMultipartUploadCommand({
      Bucket: to.bucket,
      Key: key,
      ChecksumAlgorithm: "CRC32",
      Metadata: { [checksumMetadata]: checksum },
    }),
    abortable(signal),
  );
  const uploadId = begun.UploadId;
  if (uploadId === undefined) throw new Error("the server gave no id for the upload");
  try {
    const parts = await sendParts(upload, uploadId);
    await complete(upload, uploadId, parts, checksum);
    return crc;
  } catch (thrown) {
    await abort(upload, uploadId);
    throw thrown;
  }
}

/** The first failure cancels the others. All have ended when this returns. */
async function sendParts(upload: Upload, uploadId: string): Promise<readonly Part[]> {
  const { to, place, sizeBytes } = upload;
  const partBytes = Math.max(to.limits.partBytes, Math.ceil(sizeBytes / partCountMax));
  const failed = new AbortController();
  const signal = anyOf(upload.signal, failed.signal);
  let failure: unknown;
  const sending = Array.from({ length: Math.ceil(sizeBytes / partBytes) }, async (_, index) => {
    const offset = index * partBytes;
    const bytes = Math.min(partBytes, sizeBytes - offset);
    const send = (): Promise<Part> =>
      sendPart({ ...upload, signal }, uploadId, index + 1, offset, bytes);
    try {
      return await to.transfers.run(place, send, signal);
    } catch (thrown) {
      failure ??= thrown;
      failed.abort();
      return undefined;
    }
  });
  const parts = await Promise.all(sending);
  if (upload.signal?.aborted === true) throw cancelled(place);
  if (failure !== undefined) throw failure;
  return parts.filter((part) => part !== undefined);
}

async function sendPart(
  { to, key, file, signal }: Upload,
  uploadId: string,
  partNumber: number,
  offset: number,
  bytes: number,
): Promise<Part> {
  const sent = await to.client.send(
    new to.sdk.UploadPartCommand({
      Bucket: to.bucket,
      Key: key,
      UploadId: uploadId,
      PartNumber: partNumber,
      ChecksumAlgorithm: "CRC32",
      Body: await readExactly(file, offset, bytes),
      ContentLength: bytes,
    }),
    abortable(signal),
  );
  return {
    PartNumber: partNumber,
    ...(sent.ETag === undefined ? {} : { ETag: sent.ETag }),
    ...(sent.ChecksumCRC32 === undefined ? {} : { ChecksumCRC32: sent.ChecksumCRC32 }),
  };
}

async function complete(
  upload: Upload,
  uploadId: string,
  parts: readonly Part[],
  checksum: string,
): Promise<void> {
  const { to, key, sizeBytes } = upload;
  const command = new to.sdk.CompleteMultipartUploadCommand({
    Bucket: to.bucket,
    Key: key,
    UploadId: uploadId,
    MultipartUpload: { Parts: [...parts] },
    MpuObjectSize: sizeBytes,
  });
  try {
    await to.client.send(command); // Not cancellable: the outcome would be unknown.
  } catch (thrown) {
    if (!(isMissingUpload(thrown) && (await isThere(upload, checksum)))) throw thrown;
  }
}

async function isThere({ to, key, sizeBytes }: Upload, checksum: string): Promise<boolean> {
  const command = new to.sdk.HeadObjectCommand({ Bucket: to.bucket, Key: key });
  const found = await to.client.send(command).catch(() => undefined);
  return found?.ContentLength === sizeBytes && found.Metadata?.[checksumMetadata] === checksum;
}

async function abort({ to, key }: Upload, uploadId: string): Promise<void> {
  const where = { Bucket: to.bucket, Key: key, UploadId: uploadId };
  // Leftover parts only cost storage; the caller reports the original error.
  await to.client.send(new to.sdk.AbortMultipartUploadCommand(where)).catch(() => undefined);
}

async function checksumOf({ file, sizeBytes, place, signal }: Upload): Promise<number> {
  let checksum = 0;
  for (let offset = 0; offset < sizeBytes; offset += checksumChunkBytes) {
    throwIfCancelled(place, signal);
    const bytes = Math.min(checksumChunkBytes, sizeBytes - offset);
    checksum = crc32(await readExactly(file, offset, bytes), checksum);
  }
  return checksum;
}

async function readExactly(file: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let filled = 0; filled < bytes; ) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled, offset + filled);
    if (bytesRead === 0)
      throw new OperatingError("store_corrupt", "never", "the file to put shrank");
    filled += bytesRead;
  }
  return buffer;
}

function abortable(signal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

function anyOf(first: AbortSignal | undefined, second: AbortSignal): AbortSignal {
  return first === undefined ? second : AbortSignal.any([first, second]);
}
