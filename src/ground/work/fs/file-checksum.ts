/** Checksums as the artifact contract writes them. */
import { createHash, hash } from "node:crypto";
import { createReadStream } from "node:fs";

export function checksumOfBytes(bytes: Uint8Array): string {
  return `sha256:${hash("sha256", bytes, "hex")}`;
}

/** Reads in pieces, so that the thread can do other work in between. */
export async function checksumOfFile(path: string): Promise<string> {
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    digest.update(chunk as Uint8Array);
  }
  return `sha256:${digest.digest("hex")}`;
}
