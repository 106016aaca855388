/** The codec's runtime on Node's zlib and Buffer. */
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { ParquetRuntime } from "../core/index.ts";

/** Node keeps the whole of an output part, however small the compressed result is. */
const partBytesMax = 1024 ** 2;

export const parquetRuntime: ParquetRuntime = {
  // Node joins output parts of `chunkSize`: a single part needs no joining and takes half the time.
  zstdCompress: (bytes, level) =>
    zstdCompressSync(bytes, {
      params: { [constants.ZSTD_c_compressionLevel]: level },
      chunkSize: Math.min(partBytesMax, Math.max(64, bytes.length + 1024)),
    }),
  zstdDecompress: (bytes, size) =>
    zstdDecompressSync(bytes, {
      maxOutputLength: Math.max(1, size),
      chunkSize: Math.max(64, size),
    }),
  crc32: (bytes) => crc32(bytes),
  utf8Reader: (bytes) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return (start, end) => buffer.toString("utf8", start, end);
  },
  encodeUtf8: (text) => Buffer.from(text, "utf8"),
};
