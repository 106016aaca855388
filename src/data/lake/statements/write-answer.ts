/** How a `lake_write` tells what it wrote: one text of JSON in its artifact. */
import { decodeList, encodeList } from "../../../kinds/ask/run/index.ts";
import type { LakeWritten } from "./lake-write.ts";

export function encodeWritten(written: LakeWritten): Uint8Array<ArrayBuffer> {
  return encodeList([JSON.stringify(written)]);
}

export function decodeWritten(bytes: Uint8Array): LakeWritten {
  return JSON.parse(decodeList(bytes)[0] ?? "null") as LakeWritten;
}
