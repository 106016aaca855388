/** A column of a batch that is being made: room for a full batch, used again for the next one. */
import type { FixedType } from "../../../language/core/index.ts";
import {
  batchRowsMax,
  type Column,
  createValues,
  type FixedArray,
  validityBytes,
} from "../batch.ts";
import { type ViewArray, viewOf } from "./column-view.ts";

export class OutputColumn {
  readonly type: FixedType;
  readonly values: FixedArray;
  /** The values as loops write them: 64-bit integers as pairs of words. */
  readonly data: ViewArray;
  readonly #validity = new Uint8Array(validityBytes(batchRowsMax)).fill(255);
  #hasNulls = false;

  constructor(type: FixedType) {
    this.type = type;
    this.values = createValues(type, batchRowsMax);
    this.data = viewOf({ kind: "fixed", type, values: this.values, validity: undefined }).data;
  }

  setNull(row: number): void {
    this.#validity[row >> 3] = (this.#validity[row >> 3] as number) & ~(1 << (row & 7));
    this.#hasNulls = true;
  }

  /** The rows as a column of a batch. */
  column(rowCount: number): Column {
    const validity = this.#hasNulls ? this.#validity : undefined;
    return { kind: "fixed", type: this.type, values: this.values.subarray(0, rowCount), validity };
  }

  /** Forgets the NULLs of the batch before. */
  clear(): void {
    if (!this.#hasNulls) return;
    this.#validity.fill(255);
    this.#hasNulls = false;
  }
}
