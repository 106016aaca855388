/**
 * What travels between two fragments, as bytes: a frame is a batch, a watermark, or one of the
 * words idle, barrier, end (no row will ever come) and stop (none will come in this run). Frames
 * are for processes of one version of Capstan, which is agreed on when they connect.
 * Little-endian, every array at a multiple of 8 bytes:
 *
 *   u32 kind, u32 length of the whole frame
 *   rows:       u32 row count, u32 column count; for each column u32 flags (1: has NULLs), u32
 *               bytes of its text; then its validity, its offsets (text), its values or text
 *   watermark:  u32 low, i32 high, i32 more (times reach beyond 64 bits at their ends)
 *   barrier:    f64 checkpoint
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { type FixedType, type TypeName, widthOf } from "../../../language/core/index.ts";
import { type Batch, type Column, createValues, selectedCount, validityBytes } from "../batch.ts";

export type Frame =
  | { readonly kind: "rows"; readonly batch: Batch }
  | { readonly kind: "watermark"; readonly time: bigint }
  | { readonly kind: "idle" }
  | { readonly kind: "barrier"; readonly checkpoint: number }
  | { readonly kind: "end" }
  | { readonly kind: "stop" };

const kinds = ["rows", "watermark", "idle", "barrier", "end", "stop"] as const;

const headBytes = 8;

function aligned(bytes: number): number {
  return (bytes + 7) & ~7;
}

/** The bytes of a frame, in an array of their own. */
export function encodeFrame(frame: Frame): Uint8Array<ArrayBuffer> {
  switch (frame.kind) {
    case "rows":
      return encodeRows(frame.batch);
    case "watermark": {
      const bytes = withHead(frame.kind, 24);
      const view = new DataView(bytes.buffer);
      view.setUint32(8, Number(BigInt.asUintN(32, frame.time)), true);
      view.setInt32(12, Number(BigInt.asIntN(32, frame.time >> 32n)), true);
      view.setInt32(16, Number(frame.time >> 64n), true);
      return bytes;
    }
    case "barrier": {
      const bytes = withHead(frame.kind, 16);
      new DataView(bytes.buffer).setFloat64(8, frame.checkpoint, true);
      return bytes;
    }
    default:
      return withHead(frame.kind, headBytes);
  }
}

function withHead(kind: Frame["kind"], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, kinds.indexOf(kind), true);
  view.setUint32(4, length, true);
  return bytes;
}

/** The length of the frame that begins here, of which 8 bytes at least are there. */
export function frameLength(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.getUint32(4, true);
}

export function frameKindOf(bytes: Uint8Array): Frame["kind"] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return kinds[view.getUint32(0, true)];
}

function encodeRows(batch: Batch): Uint8Array<ArrayBuffer> {
  const { columns, selection } = batch;
  const rows = selectedCount(batch);
  const hasNulls = columns.map(({ validity }) => validity !== undefined);
  const textBytes = columns.map((column) =>
    column.kind === "text" ? textLength(column, batch) : 0,
  );
  let length = headBytes + 8 + columns.length * 8;
  for (const [index, column] of columns.entries()) {
    if (hasNulls[index] === true) length += aligned(validityBytes(rows));
    length +=
      column.kind === "text"
        ? aligned(4 * (rows + 1)) + aligned(textBytes[index] ?? 0)
        : aligned(rows * widthOf(column.type));
  }
  const bytes = withHead("rows", length);
  const view = new DataView(bytes.buffer);
  view.setUint32(8, rows, true);
  view.setUint32(12, columns.length, true);
  let at = headBytes + 8;
  for (const [index] of columns.entries()) {
    view.setUint32(at, hasNulls[index] === true ? 1 : 0, true);
    view.setUint32(at + 4, textBytes[index] ?? 0, true);
    at += 8;
  }
  for (const [index, column] of columns.entries()) {
    const { validity } = column;
    if (validity !== undefined) {
      const out = bytes.subarray(at, at + validityBytes(rows));
      if (selection === undefined) out.set(validity.subarray(0, out.length));
      else gatherBits(validity, selection, out);
      at += aligned(out.length);
    }
    if (column.kind === "text") {
      const offsets = new Int32Array(bytes.buffer, at, rows + 1);
      at += aligned(4 * (rows + 1));
      const text = bytes.subarray(at, at + (textBytes[index] ?? 0));
      gatherText(column.offsets, column.bytes, batch, offsets, text);
      at += aligned(text.length);
    } else {
      const width = widthOf(column.type);
      gatherFixed(column.values, width, batch, bytes.subarray(at, at + rows * width));
      at += aligned(rows * width);
    }
  }
  return bytes;
}

function textLength(column: Extract<Column, { kind: "text" }>, batch: Batch): number {
  const { offsets } = column;
  const { selection, rowCount } = batch;
  if (selection === undefined) return (offsets[rowCount] ?? 0) - (offsets[0] ?? 0);
  let sum = 0;
  for (let index = 0; index < selection.length; index += 1) {
    const row = selection[index] as number;
    sum += (offsets[row + 1] as number) - (offsets[row] as number);
  }
  return sum;
}

function gatherBits(from: Uint8Array, selection: Int32Array, out: Uint8Array): void {
  for (let index = 0; index < selection.length; index += 1) {
    const row = selection[index] as number;
    if ((((from[row >> 3] as number) >> (row & 7)) & 1) === 1) {
      out[index >> 3] = (out[index >> 3] as number) | (1 << (index & 7));
    }
  }
}

function gatherText(
  offsets: Int32Array,
  bytes: Uint8Array,
  { selection, rowCount }: Batch,
  outOffsets: Int32Array,
  out: Uint8Array,
): void {
  if (selection === undefined) {
    const first = offsets[0] ?? 0;
    out.set(bytes.subarray(first, offsets[rowCount] ?? 0));
    for (let row = 0; row <= rowCount; row += 1) outOffsets[row] = (offsets[row] as number) - first;
    return;
  }
  let filled = 0;
  for (let index = 0; index < selection.length; index += 1) {
    const row = selection[index] as number;
    const end = offsets[row + 1] as number;
    // Most texts are shorter than what a call of `set` costs.
    for (let from = offsets[row] as number; from < end; from += 1) {
      out[filled] = bytes[from] as number;
      filled += 1;
    }
    outOffsets[index + 1] = filled;
  }
}

/** Values are moved by their width, so that one loop serves all types of it. */
function gatherFixed(
  values: ArrayBufferView,
  width: number,
  { selection, rowCount }: Batch,
  out: Uint8Array<ArrayBuffer>,
): void {
  const { buffer, byteOffset } = values;
  if (selection === undefined) {
    out.set(new Uint8Array(buffer, byteOffset, rowCount * width));
    return;
  }
  const count = selection.length;
  if (width === 8) {
    const from = new Int32Array(buffer, byteOffset, 2 * rowCount);
    const to = new Int32Array(out.buffer, out.byteOffset, 2 * count);
    for (let index = 0; index < count; index += 1) {
      const row = selection[index] as number;
      to[2 * index] = from[2 * row] as number;
      to[2 * index + 1] = from[2 * row + 1] as number;
    }
  } else if (width === 4) {
    const from = new Int32Array(buffer, byteOffset, rowCount);
    const to = new Int32Array(out.buffer, out.byteOffset, count);
    for (let index = 0; index < count; index += 1) {
      to[index] = from[selection[index] as number] as number;
    }
  } else if (width === 2) {
    const from = new Int16Array(buffer, byteOffset, rowCount);
    const to = new Int16Array(out.buffer, out.byteOffset, count);
    for (let index = 0; index < count; index += 1) {
      to[index] = from[selection[index] as number] as number;
    }
  } else {
    const from = new Uint8Array(buffer, byteOffset, rowCount);
    for (let index = 0; index < count; index += 1) {
      out[index] = from[selection[index] as number] as number;
    }
  }
}

/**
 * The frame in these bytes, which begin at a multiple of 8; the columns of a batch are views of
 * them. `types` are those of the sender's columns.
 */
export function decodeFrame(bytes: Uint8Array<ArrayBuffer>, types: readonly TypeName[]): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = kinds[view.getUint32(0, true)];
  assert(kind !== undefined, "a frame has a kind");
  if (kind === "rows") return { kind, batch: decodeRows(bytes, view, types) };
  if (kind === "watermark") {
    const time =
      BigInt(view.getUint32(8, true)) |
      (BigInt(view.getUint32(12, true)) << 32n) |
      (BigInt(view.getInt32(16, true)) << 64n);
    return { kind, time };
  }
  if (kind === "barrier") return { kind, checkpoint: view.getFloat64(8, true) };
  return { kind };
}

function decodeRows(
  bytes: Uint8Array<ArrayBuffer>,
  view: DataView,
  types: readonly TypeName[],
): Batch {
  const rowCount = view.getUint32(8, true);
  assert(view.getUint32(12, true) === types.length, "both sides of an exchange have one schema");
  const { buffer, byteOffset } = bytes;
  let at = headBytes + 8 + types.length * 8;
  const columns = types.map((type, index): Column => {
    const head = headBytes + 8 + index * 8;
    let validity: Uint8Array | undefined;
    if (view.getUint32(head, true) === 1) {
      validity = bytes.subarray(at, at + validityBytes(rowCount));
      at += aligned(validity.length);
    }
    if (type === "VARSIZED") {
      const offsets = new Int32Array(buffer, byteOffset + at, rowCount + 1);
      at += aligned(4 * (rowCount + 1));
      const text = bytes.subarray(at, at + view.getUint32(head + 4, true));
      at += aligned(text.length);
      return { kind: "text", type, offsets, bytes: text, validity };
    }
    const values = viewValues(type, buffer, byteOffset + at, rowCount);
    at += aligned(rowCount * widthOf(type));
    return { kind: "fixed", type, values, validity };
  });
  return { rowCount, columns, selection: undefined };
}

const samples = new Map<FixedType, ReturnType<typeof createValues>>();

function viewValues(
  type: FixedType,
  buffer: ArrayBuffer,
  offset: number,
  rowCount: number,
): ReturnType<typeof createValues> {
  let sample = samples.get(type);
  if (sample === undefined) {
    sample = createValues(type, 0);
    samples.set(type, sample);
  }
  const View = sample.constructor as new (
    buffer: ArrayBuffer,
    offset: number,
    length: number,
  ) => ReturnType<typeof createValues>;
  return new View(buffer, offset, rowCount);
}
