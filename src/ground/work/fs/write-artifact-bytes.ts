/** An artifact whose bytes are at hand, written in one go. */
import { rmSync, writeFileSync } from "node:fs";
import { OperatingError } from "../../kernel/errors.ts";
import { artifactSchemaVersion, type ProducedFile } from "../core/index.ts";
import { checksumOfBytes } from "./file-checksum.ts";
import { translateFsError } from "./fs-error.ts";

export interface ArtifactFacts {
  readonly rowCount: number;
  readonly minTs?: number | undefined;
  readonly maxTs?: number | undefined;
}

export function writeArtifactBytes(
  bytes: Uint8Array,
  path: string,
  bytesMax: number,
  { rowCount, minTs, maxTs }: ArtifactFacts,
): ProducedFile {
  if (bytes.length > bytesMax) {
    const message = `a part of the result has ${bytes.length} bytes, more than the ${bytesMax} allowed`;
    throw new OperatingError("query_too_large", "never", message);
  }
  try {
    writeFileSync(path, bytes);
  } catch (thrown) {
    rmSync(path, { force: true });
    throw translateFsError(thrown);
  }
  return {
    path,
    sizeBytes: bytes.length,
    checksum: checksumOfBytes(bytes),
    rowCount,
    minTs,
    maxTs,
    schemaVersion: artifactSchemaVersion,
  };
}
