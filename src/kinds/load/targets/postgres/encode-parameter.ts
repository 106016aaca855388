/**
 * A parameter's value on the wire: its length, then its bytes. In binary where the server's type
 * has a simple form that the value fits; in text otherwise, and then the server judges it.
 */
import type { ParameterType, ParameterValue } from "../../core/operation.ts";
import type { SendBuffer } from "./send-buffer.ts";

/** https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat */
export const typeOids = {
  boolean: 16,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  float4: 700,
  float8: 701,
  timestamp: 1114,
  timestamptz: 1184,
} as const;

export const declaredOids: Readonly<Record<ParameterType, number>> = {
  bigint: typeOids.int8,
  double: typeOids.float8,
  text: typeOids.text,
  boolean: typeOids.boolean,
  timestamp: typeOids.timestamptz,
};

/** Whether such a value can go as binary at all. */
export function hasBinaryForm(oid: number): boolean {
  return oid !== typeOids.text && Object.values<number>(typeOids).includes(oid);
}

const nullLength = -1;
/** From 1970 to 2000, where Postgres counts from. */
const epochShiftMs = 946_684_800_000;
const numberBytesMax = 32;

/** An upper bound of what `encodeParameter` writes. */
export function encodedBytesMax(value: ParameterValue | undefined): number {
  return 4 + (typeof value === "string" ? value.length * 3 : numberBytesMax);
}

/** Writes at `send.length` and moves it; room was reserved. Returns whether it was binary. */
export function encodeParameter(
  send: SendBuffer,
  oid: number,
  type: ParameterType,
  value: ParameterValue | undefined,
): boolean {
  if (value === null || value === undefined) {
    send.view.setInt32(send.length, nullLength);
    send.length += 4;
    return false;
  }
  if (typeof value === "number") {
    if (encodeNumber(send, oid, type, value)) return true;
  } else if (typeof value === "bigint") {
    if (encodeBigint(send, oid, value)) return true;
  } else if (typeof value === "boolean" && oid === typeOids.boolean) {
    send.view.setInt32(send.length, 1);
    send.bytes[send.length + 4] = value ? 1 : 0;
    send.length += 5;
    return true;
  }
  encodeText(send, textOf(type, value));
  return false;
}

function encodeNumber(send: SendBuffer, oid: number, type: ParameterType, value: number): boolean {
  switch (oid) {
    case typeOids.int4:
      if ((value | 0) !== value) return false;
      send.view.setInt32(send.length, 4);
      send.view.setInt32(send.length + 4, value);
      send.length += 8;
      return true;
    case typeOids.int8:
      if (!Number.isSafeInteger(value)) return false;
      writeInt64(send, value);
      return true;
    case typeOids.int2:
      if ((value << 16) >> 16 !== value) return false;
      send.view.setInt32(send.length, 2);
      send.view.setInt16(send.length + 4, value);
      send.length += 6;
      return true;
    case typeOids.float8:
      send.view.setInt32(send.length, 8);
      send.view.setFloat64(send.length + 4, value);
      send.length += 12;
      return true;
    case typeOids.float4:
      send.view.setInt32(send.length, 4);
      send.view.setFloat32(send.length + 4, value);
      send.length += 8;
      return true;
    case typeOids.timestamp:
    case typeOids.timestamptz: {
      const microseconds = Math.round((value - epochShiftMs) * 1000);
      if (type !== "timestamp" || !Number.isSafeInteger(microseconds)) return false;
      writeInt64(send, microseconds);
      return true;
    }
    default:
      return false;
  }
}

function encodeBigint(send: SendBuffer, oid: number, value: bigint): boolean {
  if (oid !== typeOids.int8 || BigInt.asIntN(64, value) !== value) return false;
  send.view.setInt32(send.length, 8);
  send.view.setBigInt64(send.length + 4, value);
  send.length += 12;
  return true;
}

/** A safe integer in two halves: a `bigint` would be an object for each value. */
function writeInt64(send: SendBuffer, value: number): void {
  send.view.setInt32(send.length, 8);
  send.view.setInt32(send.length + 4, Math.floor(value / 0x1_0000_0000));
  send.view.setInt32(send.length + 8, value % 0x1_0000_0000);
  send.length += 12;
}

function encodeText(send: SendBuffer, text: string): void {
  const { bytes } = send;
  const lengthAt = send.length;
  let at = lengthAt + 4;
  const { length } = text;
  let index = 0;
  // Short ASCII is what keys are, and a call into the runtime costs more than they do.
  if (length <= 48) {
    for (; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) break;
      bytes[at + index] = code;
    }
  }
  at = index === length ? at + length : at + bytes.write(text, at);
  send.view.setInt32(lengthAt, at - lengthAt - 4);
  send.length = at;
}

function textOf(type: ParameterType, value: number | bigint | string | boolean): string {
  if (type === "timestamp" && typeof value === "number" && Math.abs(value) <= 8.64e15) {
    return new Date(value).toISOString();
  }
  return String(value);
}
