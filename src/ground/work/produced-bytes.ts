/** The result of an execution whose artifact is in memory. */
import { OperatingError } from "../kernel/errors.ts";
import { artifactSchemaVersion, type ProducedFile } from "./core/index.ts";
import { checksumOfBytes } from "./fs/file-checksum.ts";

export interface ArtifactFacts {
  readonly rowCount: number;
  readonly minTs?: number | undefined;
  readonly maxTs?: number | undefined;
}

export type ProducedBytes = ProducedFile & Required<Pick<ProducedFile, "bytes">>;

/** Throws `query_too_large`. */
export function producedBytes(
  bytes: Uint8Array<ArrayBuffer>,
  bytesMax: number,
  { rowCount, minTs, maxTs }: ArtifactFacts,
): ProducedBytes {
  if (bytes.length > bytesMax) {
    const message = `a part of the result has ${bytes.length} bytes, more than the ${bytesMax} allowed`;
    throw new OperatingError("query_too_large", "never", message);
  }
  return {
    bytes,
    sizeBytes: bytes.length,
    checksum: checksumOfBytes(bytes),
    rowCount,
    minTs,
    maxTs,
    schemaVersion: artifactSchemaVersion,
  };
}
