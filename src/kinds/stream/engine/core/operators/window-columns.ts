/** The columns `start` and `end` of the batches that a window gives. */

import { assert } from "../../../../../ground/kernel/errors.ts";
import { isSigned, type Schema } from "../../../language/core/index.ts";
import type { Column } from "../batch.ts";
import { OutputColumn } from "../tables/output-column.ts";

export class WindowColumns {
  readonly #columns: readonly OutputColumn[];

  constructor(output: Schema) {
    this.#columns = output.slice(0, 2).map(({ type: { name } }) => {
      assert(name === "UINT64" || name === "INT64", "a window's times are 64-bit integers");
      return new OutputColumn(name);
    });
  }

  /** A window that reaches beyond the range of its type ends there. */
  set(start: bigint, end: bigint): void {
    for (const [i, time] of [start, end].entries()) {
      const column = this.#columns[i] as OutputColumn;
      (column.values as BigUint64Array).fill(clampTime(time, isSigned(column.type)));
    }
  }

  columns(rowCount: number): Column[] {
    return this.#columns.map((column) => column.column(rowCount));
  }
}

const signedLimits = [-(2n ** 63n), 2n ** 63n - 1n] as const;
const unsignedLimits = [0n, 2n ** 64n - 1n] as const;

/** The nearest time that the type has. */
export function clampTime(time: bigint, signed: boolean): bigint {
  const [least, greatest] = signed ? signedLimits : unsignedLimits;
  if (time < least) return least;
  if (time > greatest) return greatest;
  return time;
}
