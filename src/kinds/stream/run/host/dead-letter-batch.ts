/** A malformed record as a row of the sink for such records; see `deadLetterSchema`. */
import type { Batch, Column } from "../../engine/core/index.ts";

const encoder = new TextEncoder();

export function deadLetterBatch(
  source: string,
  place: string,
  reason: string,
  record: Uint8Array,
): Batch {
  const texts = [source, place, reason].map((text) => encoder.encode(text));
  const columns = [...texts, record].map(
    (bytes): Column => ({
      kind: "text",
      type: "VARSIZED",
      offsets: Int32Array.of(0, bytes.length),
      bytes,
      validity: undefined,
    }),
  );
  return { rowCount: 1, columns, selection: undefined };
}
