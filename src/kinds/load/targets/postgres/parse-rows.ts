/** Descriptions and rows, where somebody reads them. */
import { decodeValue } from "./decode-value.ts";
import { MalformedStream } from "./message-scanner.ts";

export type Row = readonly unknown[];

export function parseParameterTypes(bytes: Buffer, start: number, end: number): number[] {
  const count = end - start < 2 ? -1 : bytes.readUInt16BE(start);
  if (end - start !== 2 + 4 * count) throw new MalformedStream("a description of another length");
  return Array.from({ length: count }, (_, index) => bytes.readUInt32BE(start + 2 + 4 * index));
}

/** Of each column a name, then table, column, type, and what is of no use here: 18 bytes. */
export function parseColumnTypes(bytes: Buffer, start: number, end: number): number[] {
  const oids: number[] = [];
  let at = start + 2;
  while (at < end) {
    const nameEnd = bytes.indexOf(0, at);
    if (nameEnd === -1 || nameEnd + 19 > end) throw new MalformedStream("a column cut off");
    oids.push(bytes.readUInt32BE(nameEnd + 7));
    at = nameEnd + 19;
  }
  return oids;
}

export function parseRow(
  bytes: Buffer,
  start: number,
  end: number,
  columns: readonly number[],
): Row {
  let at = start + 2;
  return columns.map((oid) => {
    const length = at + 4 <= end ? bytes.readInt32BE(at) : end;
    at += 4;
    if (length === -1) return null;
    if (length < 0 || at + length > end) throw new MalformedStream("a row cut off");
    const text = bytes.toString("utf8", at, at + length);
    at += length;
    return decodeValue(oid, text);
  });
}
