/** One value from its bytes into a column, completely and not fast: what the fast paths leave. */
import { booleanOf } from "../expressions/text-numbers.ts";
import { parseFloat32, parseFloat64 } from "../numbers/parse-float.ts";
import { parseInteger32, parseInteger64 } from "../numbers/parse-integer.ts";
import { parseIsoTime } from "../time/iso-time.ts";
import type { ColumnBuffer } from "./column-buffers.ts";
import { isUtf8 } from "./utf8.ts";

/** False: the bytes are no value of the column's type, and nothing was written. */
export function parseValue(
  column: ColumnBuffer,
  row: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const { type, values } = column;
  switch (type) {
    case "VARSIZED":
      if (!isUtf8(bytes, start, end)) return false;
      column.append(bytes, start, end);
      return true;
    case "CHAR":
      if (end - start !== 1) return false;
      values[row] = bytes[start] as number;
      return true;
    case "BOOLEAN": {
      const value = booleanOf(bytes, start, end);
      if (value === undefined) return false;
      values[row] = value ? 1 : 0;
      return true;
    }
    case "FLOAT64":
    case "FLOAT32": {
      const value =
        type === "FLOAT64" ? parseFloat64(bytes, start, end) : parseFloat32(bytes, start, end);
      if (value === undefined) return false;
      values[row] = value;
      return true;
    }
    case "INT64":
    case "UINT64":
      if (parseInteger64(bytes, start, end, type === "INT64", column.halves, row * 2)) return true;
      return column.isTime && parseTime(column, row, bytes, start, end);
    default: {
      const value = parseInteger32(bytes, start, end, type);
      if (Number.isNaN(value)) return false;
      values[row] = value;
      return true;
    }
  }
}

/** A time as milliseconds; times before 1970 do not fit in UINT64. */
function parseTime(
  column: ColumnBuffer,
  row: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const ms = parseIsoTime(bytes, start, end);
  if (ms === undefined || (ms < 0 && column.type === "UINT64")) return false;
  column.halves[row * 2] = ms;
  column.halves[row * 2 + 1] = Math.floor(ms / 4_294_967_296);
  return true;
}
