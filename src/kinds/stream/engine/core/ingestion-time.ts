/** The time of reading as a column. */
import type { Batch } from "./batch.ts";

/** The batch with one more column, UINT64, that has the same time in every row. */
export function withIngestionTime(batch: Batch, timeMs: bigint): Batch {
  const values = new BigUint64Array(batch.rowCount).fill(timeMs);
  return {
    ...batch,
    columns: [...batch.columns, { kind: "fixed", type: "UINT64", values, validity: undefined }],
  };
}
