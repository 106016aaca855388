/**
 * How values are represented in compiled code: integers of up to 32 bits and floats are numbers,
 * integers of 64 bits are BigInts that never leave a machine register, booleans are booleans and
 * CHAR is its byte.
 */
import type { TypeName } from "../../../language/core/index.ts";

export function is64(type: TypeName): boolean {
  return type === "INT64" || type === "UINT64";
}

/** The integer expression, wrapped to the type. */
export function wrap(value: string, type: TypeName): string {
  switch (type) {
    case "INT8":
      return `((${value}) << 24 >> 24)`;
    case "INT16":
      return `((${value}) << 16 >> 16)`;
    case "INT32":
      return `((${value}) | 0)`;
    case "UINT8":
    case "CHAR":
      return `((${value}) & 255)`;
    case "UINT16":
      return `((${value}) & 65535)`;
    case "UINT32":
      return `((${value}) >>> 0)`;
    case "INT64":
      return `BigInt.asIntN(64, ${value})`;
    case "UINT64":
      return `BigInt.asUintN(64, ${value})`;
    case "FLOAT32":
      return `Math.fround(${value})`;
    case "FLOAT64":
    case "BOOLEAN":
    case "VARSIZED":
      return value;
  }
}

/** What a variable of the type holds before it is assigned. */
export function zeroOf(type: TypeName): string {
  if (is64(type)) return "0n";
  return type === "BOOLEAN" ? "false" : "0";
}
