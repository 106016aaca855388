/** The statistics of a column over the row groups of a file, as the catalog keeps them. Pure. */
import { boundsOfBoth, type ColumnBounds, type PlainColumn } from "../../parquet/core/index.ts";
import type { ColumnStatistics } from "../core/index.ts";

/** An unknown bound is always safe, and a long one helps nobody to skip a file. */
const textBytesMax = 128;
const decoder = new TextDecoder("utf-8", { fatal: true });

export class ColumnFacts {
  #valueCount = 0;
  #nullCount = 0;
  #sizeBytes = 0;
  #bounds: ColumnBounds | undefined;
  #hasNan: boolean | undefined;

  add({ length, nullCount, bytes, bounds, hasNan }: PlainColumn): void {
    this.#valueCount += length - nullCount;
    this.#nullCount += nullCount;
    this.#sizeBytes += bytes.length;
    this.#bounds = boundsOfBoth(this.#bounds, bounds);
    if (hasNan !== undefined) this.#hasNan = hasNan || this.#hasNan === true;
  }

  /** `type` in DuckDB's notation. */
  statistics(columnId: number, type: string): ColumnStatistics {
    const bounds = this.#bounds && textsOf(this.#bounds, type);
    return {
      columnId,
      sizeBytes: this.#sizeBytes,
      valueCount: this.#valueCount,
      nullCount: this.#nullCount,
      min: bounds?.min,
      max: bounds?.max,
      containsNan: this.#hasNan,
    };
  }
}

function textsOf({ min, max }: ColumnBounds, type: string): ColumnBounds<string> | undefined {
  const [least, greatest] = [min, max].map((bound) => textOf(bound, type));
  return least === undefined || greatest === undefined ? undefined : { min: least, max: greatest };
}

function textOf(bound: number | bigint | Uint8Array, type: string): string | undefined {
  if (type === "BOOLEAN") return bound === 0 ? "false" : "true";
  if (typeof bound === "bigint") return String(bound);
  if (typeof bound === "number") {
    if (!Number.isFinite(bound)) return undefined;
    return String(type === "FLOAT" ? shortFloat(bound) : bound);
  }
  // Postgres stores no text with U+0000.
  if (bound.length > textBytesMax || bound.includes(0)) return undefined;
  try {
    return decoder.decode(bound);
  } catch {
    return undefined;
  }
}

/** The number with the fewest digits that is the same one with 32 bits. */
function shortFloat(value: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}
