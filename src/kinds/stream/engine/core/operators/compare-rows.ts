/** The order of rows by some columns. NULLs come last in both directions, NaN is the greatest. */
import { isSigned, type SortKey } from "../../../language/core/index.ts";
import { isValid } from "../batch.ts";
import { type ColumnView, is64Bit } from "../tables/column-view.ts";
import { compareBytes } from "../tables/text-bytes.ts";

/** Compares two rows of the same columns. */
export type CompareRows = (a: number, b: number) => number;

export function createCompare(
  views: readonly ColumnView[],
  order: readonly SortKey[],
): CompareRows {
  const columns = order.map(({ column, descending }) => {
    const view = views[column] as ColumnView;
    const compare = compareValues(view);
    const { validity } = view;
    return (a: number, b: number): number => {
      const [hasA, hasB] = [isValid(validity, a), isValid(validity, b)];
      if (!hasA || !hasB) return Number(hasB) - Number(hasA);
      return descending ? -compare(a, b) : compare(a, b);
    };
  });
  return (a, b) => {
    for (const compare of columns) {
      const sign = compare(a, b);
      if (sign !== 0) return sign;
    }
    return 0;
  };
}

function compareValues({ type, data, offsets }: ColumnView): CompareRows {
  if (type === "VARSIZED") {
    const bytes = data as Uint8Array;
    return (a, b) =>
      compareBytes(
        bytes,
        offsets[a] as number,
        offsets[a + 1] as number,
        bytes,
        offsets[b] as number,
        offsets[b + 1] as number,
      );
  }
  if (is64Bit(type)) {
    const bias = isSigned(type) ? 0 : -2_147_483_648;
    return (a, b) => {
      const high = ((data[2 * a + 1] as number) ^ bias) - ((data[2 * b + 1] as number) ^ bias);
      if (high !== 0) return high;
      return ((data[2 * a] as number) >>> 0) - ((data[2 * b] as number) >>> 0);
    };
  }
  return (a, b) => {
    const x = data[a] as number;
    const y = data[b] as number;
    if (x < y) return -1;
    if (x > y) return 1;
    return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  };
}
