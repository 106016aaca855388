/** What the codec needs, by Node's zlib and Buffer. */
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { ParquetRuntime } from "../core/index.ts";

export const parquetRuntime: ParquetRuntime = {
  zstdCompress: (bytes, level) =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } }),
  // Node allocates the output in parts of `chunkSize` and joins them: one part needs no joining.
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
