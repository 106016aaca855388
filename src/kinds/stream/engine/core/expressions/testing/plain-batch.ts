/** Batches from plain values and back, for tests. */
import type { Schema } from "../../../../language/core/index.ts";
import { type Batch, type Column, createValues, isValid, validityBytes } from "../../batch.ts";
import type { Plain } from "./naive-expr.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A validity bitmap is made only where a value is NULL. */
export function batchOf(
  schema: Schema,
  rows: readonly (readonly Plain[])[],
  selection?: readonly number[],
): Batch {
  return {
    rowCount: rows.length,
    columns: schema.map((field, index) =>
      columnFrom(
        field.type.name,
        rows.map((row) => row[index] ?? null),
      ),
    ),
    selection: selection === undefined ? undefined : Int32Array.from(selection),
  };
}

function columnFrom(type: Schema[number]["type"]["name"], values: readonly Plain[]): Column {
  let validity: Uint8Array | undefined;
  values.forEach((value, row) => {
    if (value !== null) return;
    validity ??= new Uint8Array(validityBytes(values.length)).fill(255);
    validity[row >> 3] = (validity[row >> 3] as number) & ~(1 << (row & 7));
  });
  if (type === "VARSIZED") {
    const texts = values.map((value) => encoder.encode(value === null ? "" : String(value)));
    const offsets = new Int32Array(values.length + 1);
    texts.forEach((text, row) => {
      offsets[row + 1] = (offsets[row] as number) + text.length;
    });
    const bytes = new Uint8Array(offsets[values.length] as number);
    texts.forEach((text, row) => {
      bytes.set(text, offsets[row] as number);
    });
    return { kind: "text", type, offsets, bytes, validity };
  }
  const array = createValues(type, values.length);
  values.forEach((value, row) => {
    if (value === null) return;
    const wide = type === "INT64" || type === "UINT64";
    array[row] = (wide ? BigInt(value) : Number(value)) as never;
  });
  return { kind: "fixed", type, values: array, validity };
}

/** The selected rows of a batch. */
export function rowsOf(batch: Batch): Plain[][] {
  const rows = batch.selection ?? Int32Array.from({ length: batch.rowCount }, (_, row) => row);
  return [...rows].map((row) => batch.columns.map((column) => plainValue(column, row)));
}

export function plainValue(column: Column, row: number): Plain {
  if (!isValid(column.validity, row)) return null;
  if (column.kind === "text") {
    return decoder.decode(column.bytes.subarray(column.offsets[row], column.offsets[row + 1]));
  }
  const value = column.values[row] as number | bigint;
  if (column.type === "BOOLEAN") return value !== 0;
  return column.type.includes("INT") ? BigInt(value) : Number(value);
}
