/** Rows as plain values, for tests: to batches, with a selection or without, and back. */
import { type DataType, isFloat, type Schema } from "../../language/core/index.ts";
import { type Batch, type Column, createValues, isValid, validityBytes } from "../core/index.ts";

/** Integers, BOOLEAN and CHAR are BigInts, floats are numbers. */
export type Value = bigint | number | string | null;
export type Row = readonly Value[];

/**
 * A batch with the rows. With `hidden` every row stands behind one that is not selected, which has
 * the values of another row.
 */
export function toBatch(schema: Schema, rows: readonly Row[], hidden = false): Batch {
  const all = hidden
    ? rows.flatMap((row, i) => [rows[(i * 7 + 3) % rows.length] ?? row, row])
    : rows;
  return {
    rowCount: all.length,
    columns: schema.map(({ type }, i) =>
      toColumn(
        type,
        all.map((row) => row[i] ?? null),
      ),
    ),
    selection: hidden ? Int32Array.from(rows, (_, i) => i * 2 + 1) : undefined,
  };
}

function toColumn({ name }: DataType, values: readonly Value[]): Column {
  const bits = new Uint8Array(validityBytes(values.length));
  for (const [i, value] of values.entries()) {
    if (value !== null) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
  }
  const validity = values.includes(null) ? bits : undefined;
  if (name === "VARSIZED") {
    const texts = values.map((value) => new TextEncoder().encode(`${value ?? "hidden"}`));
    const offsets = new Int32Array(values.length + 1);
    for (const [i, text] of texts.entries()) offsets[i + 1] = (offsets[i] ?? 0) + text.length;
    const bytes = new Uint8Array(offsets.at(-1) ?? 0);
    for (const [i, text] of texts.entries()) bytes.set(text, offsets[i]);
    return { kind: "text", type: name, offsets, bytes, validity };
  }
  const array = createValues(name, values.length);
  for (const [i, value] of values.entries()) {
    const filled = value ?? 7n;
    if (array instanceof BigInt64Array || array instanceof BigUint64Array) {
      array[i] = BigInt(filled);
    } else array[i] = Number(filled);
  }
  return { kind: "fixed", type: name, values: array, validity };
}

/** The selected rows of a batch. */
export function toRows(batch: Batch): Row[] {
  const rows = batch.selection ?? Array.from({ length: batch.rowCount }, (_, row) => row);
  return Array.from(rows, (row) => batch.columns.map((column) => valueAt(column, row)));
}

export function valueAt(column: Column, row: number): Value {
  if (!isValid(column.validity, row)) return null;
  if (column.kind === "text") {
    return new TextDecoder().decode(
      column.bytes.subarray(column.offsets[row], column.offsets[row + 1]),
    );
  }
  const value = column.values[row] ?? 0;
  return isFloat(column.type) ? Number(value) : BigInt(value);
}

/** Rows as sorted texts, to be compared as multisets; floats to nine digits. */
export function asMultiset(rows: readonly Row[]): string[] {
  return rows.map((row) => row.map(asText).join(" | ")).sort();
}

function asText(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "number") return `${value}`;
  // The factor moves round decimals away from where rounding would tear two close values apart.
  const moved = value * 1.000_000_123_456_789;
  return Number.isFinite(value) ? `${Number(moved.toPrecision(9)) + 0}f` : `${value}f`;
}
