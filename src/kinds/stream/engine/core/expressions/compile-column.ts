/**
 * One expression over batches: for each batch a column with its values. Values stand at the rows
 * of the batch, so that columns of the input and computed ones go together with one selection;
 * rows that are not selected are not computed. The buffers are used again for the next batch.
 */
import type { Expr, FixedType } from "../../../language/core/index.ts";
import { type Batch, type Column, createValues, type FixedArray, validityBytes } from "../batch.ts";
import { generate } from "./generate.ts";
import { link, loopText } from "./link.ts";
import { asFixed, asText, type Operand, Source } from "./source.ts";
import { columnsOf, VariantCache } from "./variants.ts";

interface FixedOut {
  values: FixedArray;
  validity: Uint8Array;
}

interface TextOut {
  offsets: Int32Array;
  bytes: Uint8Array;
  validity: Uint8Array;
  rowCount: number;
}

/** Returns how many NULLs were written. */
type Run<Out> = (
  columns: readonly Column[],
  count: number,
  rows: Int32Array | undefined,
  out: Out,
) => number;

export function compileColumn(expr: Expr): (batch: Batch) => Column {
  return expr.type.name === "VARSIZED" ? compileText(expr) : compileFixed(expr, expr.type.name);
}

/** What is written for a row that is NULL. */
const markNull = "validity[r >> 3] &= ~(1 << (r & 7)); nulls++;";

function compileFixed(expr: Expr, type: FixedType): (batch: Batch) => Column {
  const variants = new VariantCache(columnsOf(expr), (variant) => {
    const source = new Source(variant);
    const operand = asFixed(generate(source, expr));
    const stored = type === "BOOLEAN" ? `${operand.value} ? 1 : 0` : operand.value;
    const body = [`values[r] = ${stored};`, ...nullLines(operand)];
    const text = `const values = out.values, validity = out.validity;
let nulls = 0;
${loopText(source, body)}
return nulls;`;
    return { slots: source.slots, run: link(source, text) as Run<FixedOut> };
  });
  const out: FixedOut = { values: createValues(type, 0), validity: new Uint8Array(0) };
  return (batch) => {
    const { rowCount, selection } = batch;
    if (out.values.length < rowCount) out.values = createValues(type, roundUp(rowCount));
    out.validity = clearedValidity(out.validity, rowCount);
    const { slots, run } = variants.find(batch);
    const columns = slots.map((index) => batch.columns[index] as Column);
    const count = selection === undefined ? rowCount : selection.length;
    const nulls = run(columns, count, selection, out);
    const validity = nulls === 0 ? undefined : out.validity;
    return { kind: "fixed", type, values: out.values, validity };
  };
}

function compileText(expr: Expr): (batch: Batch) => Column {
  const variants = new VariantCache(columnsOf(expr), (variant) => {
    const source = new Source(variant);
    const operand = asText(generate(source, expr));
    return { slots: source.slots, run: link(source, textLoop(source, operand)) as Run<TextOut> };
  });
  const out: TextOut = {
    offsets: new Int32Array(1),
    bytes: new Uint8Array(0),
    validity: new Uint8Array(0),
    rowCount: 0,
  };
  return (batch) => {
    const { rowCount, selection } = batch;
    if (out.offsets.length <= rowCount) out.offsets = new Int32Array(roundUp(rowCount) + 1);
    out.validity = clearedValidity(out.validity, rowCount);
    out.rowCount = rowCount;
    const { slots, run } = variants.find(batch);
    const columns = slots.map((index) => batch.columns[index] as Column);
    const count = selection === undefined ? rowCount : selection.length;
    const nulls = run(columns, count, selection, out);
    const validity = nulls === 0 ? undefined : out.validity;
    return { kind: "text", type: "VARSIZED", offsets: out.offsets, bytes: out.bytes, validity };
  };
}

/** Copies the text of each row behind that of the row before. */
function textLoop(source: Source, operand: ReturnType<typeof asText>): string {
  source.helper("copyBytes");
  source.helper("grownLength");
  const copy = `const length = ${operand.end} - ${operand.start};
if (place + length > bytes.length) {
const grown = new Uint8Array(grownLength(bytes.length, place + length));
grown.set(bytes);
out.bytes = bytes = grown;
}
copyBytes(bytes, place, ${operand.bytes}, ${operand.start}, ${operand.end});
place += length;`;
  const body = [
    ...(source.variant.selected ? ["while (next < r) offsets[++next] = place;"] : []),
    ...(operand.isNull === "false"
      ? [copy]
      : [`if (${operand.isNull}) { ${markNull} } else {\n${copy}\n}`]),
    "offsets[r + 1] = place;",
    ...(source.variant.selected ? ["next = r + 1;"] : []),
  ];
  return `const offsets = out.offsets, validity = out.validity;
let bytes = out.bytes, place = 0, nulls = 0, next = 0;
offsets[0] = 0;
${loopText(source, body)}
${source.variant.selected ? "while (next < out.rowCount) offsets[++next] = place;" : ""}
return nulls;`;
}

function nullLines(operand: Operand): readonly string[] {
  return operand.isNull === "false" ? [] : [`if (${operand.isNull}) { ${markNull} }`];
}

/** A bitmap in which every row is valid. */
function clearedValidity(validity: Uint8Array, rowCount: number): Uint8Array {
  const needed = validityBytes(rowCount);
  if (validity.length < needed) return new Uint8Array(validityBytes(roundUp(rowCount))).fill(255);
  return validity.fill(255, 0, needed);
}

/** Buffers grow in steps, so that batches of slightly different sizes share them. */
export function roundUp(rowCount: number): number {
  return Math.max(64, 2 ** Math.ceil(Math.log2(rowCount)));
}
