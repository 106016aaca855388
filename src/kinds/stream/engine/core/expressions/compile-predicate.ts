/** A condition over batches: the same columns, and of the selected rows those where it is true. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Expr, Schema } from "../../../language/core/index.ts";
import type { Batch, Column } from "../batch.ts";
import { roundUp } from "./compile-column.ts";
import { generate } from "./generate.ts";
import { link, loopText } from "./link.ts";
import { asFixed, not, Source } from "./source.ts";
import { columnsOf, VariantCache } from "./variants.ts";

type Run = (
  columns: readonly Column[],
  count: number,
  rows: Int32Array | undefined,
  out: Int32Array,
) => number;

export function compilePredicate(predicate: Expr, input: Schema): (batch: Batch) => Batch {
  const used = columnsOf(predicate);
  for (const index of used) assert(index < input.length, "a column of the input");
  const variants = new VariantCache(used, (variant) => {
    const source = new Source(variant);
    const { value, isNull } = asFixed(generate(source, predicate));
    const condition = isNull === "false" ? value : `${not(isNull)} && ${value}`;
    const text = `let kept = 0;
${loopText(source, [`out[kept] = r;`, `kept += ${condition} ? 1 : 0;`])}
return kept;`;
    return { slots: source.slots, run: link(source, text) as Run };
  });
  let rows = new Int32Array(0);
  return (batch) => {
    const { rowCount, selection } = batch;
    const count = selection === undefined ? rowCount : selection.length;
    // One more than is kept, since the loop writes before it decides.
    if (rows.length <= count) rows = new Int32Array(roundUp(count + 1));
    const { slots, run } = variants.find(batch);
    const columns = slots.map((index) => batch.columns[index] as Column);
    const kept = run(columns, count, selection, rows);
    return kept === count ? batch : { ...batch, selection: rows.subarray(0, kept) };
  };
}
