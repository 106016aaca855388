/**
 * Expressions over batches. A plain column is passed on as it is; the others are computed at the
 * rows they belong to, and only for selected rows. So the selection stays, nothing is compacted,
 * and a projection of columns only costs nothing for a row.
 */

import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Expr, Schema } from "../../../language/core/index.ts";
import type { Batch, Column } from "../batch.ts";
import { compileColumn } from "./compile-column.ts";
import { columnsOf } from "./variants.ts";

export function compileProjection(exprs: readonly Expr[], input: Schema): (batch: Batch) => Batch {
  const makers = exprs.map((expr) => columnMaker(expr, input));
  return (batch) => ({
    rowCount: batch.rowCount,
    columns: makers.map((make) => make(batch)),
    selection: batch.selection,
  });
}

function columnMaker(expr: Expr, input: Schema): (batch: Batch) => Column {
  for (const index of columnsOf(expr)) assert(index < input.length, "a column of the input");
  if (expr.kind !== "column") return compileColumn(expr);
  const { index } = expr;
  return (batch) => batch.columns[index] as Column;
}
