/**
 * The batches that a join gives: pairs of rows, checked against the residual predicate, and rows
 * that found no partner, with NULLs beside them.
 */
import type { Expr, Schema } from "../../../language/core/index.ts";
import type { Batch, Column } from "../batch.ts";
import { batchRowsMax } from "../batch.ts";
import { compilePredicate } from "../expressions/compile-predicate.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { RowStore } from "../tables/row-store.ts";

export class JoinOutput {
  readonly #residual: ((batch: Batch) => Batch) | undefined;
  readonly #emit: (batch: Batch) => void;
  readonly #left: RowStore;
  readonly #right: RowStore;
  /** What stands before the columns of both sides. */
  head: (rowCount: number) => Column[] = () => [];

  constructor(
    left: Schema,
    right: Schema,
    residual: Expr | undefined,
    emit: (batch: Batch) => void,
  ) {
    this.#left = new RowStore(left.map(({ type }) => type));
    this.#right = new RowStore(right.map(({ type }) => type));
    this.#residual =
      residual === undefined ? undefined : compilePredicate(residual, [...left, ...right]);
    this.#emit = emit;
  }

  /** Emits the pairs that the residual lets pass; returns their places, or all with `undefined`. */
  pairs(
    left: readonly ColumnView[],
    leftRows: Int32Array,
    right: readonly ColumnView[],
    rightRows: Int32Array,
  ): Int32Array | undefined {
    this.#left.clear();
    this.#right.clear();
    this.#left.append(left, leftRows);
    this.#right.append(right, rightRows);
    const rowCount = leftRows.length;
    const columns = [...this.#left.columns(0, rowCount), ...this.#right.columns(0, rowCount)];
    const selection = this.#residual?.({ rowCount, columns, selection: undefined }).selection;
    if (selection?.length === 0) return selection;
    this.#emit({ rowCount, columns: [...this.head(rowCount), ...columns], selection });
    return selection;
  }

  /** Emits the rows of one side that are not marked in `matched`, of `count`. */
  alone(
    side: "left" | "right",
    views: readonly ColumnView[],
    matched: Uint8Array,
    count: number,
  ): void {
    const rows = new Int32Array(Math.min(count, batchRowsMax));
    let kept = 0;
    for (let row = 0; row < count; row += 1) {
      if (matched[row] !== 0) continue;
      rows[kept] = row;
      kept += 1;
      if (kept === rows.length) {
        this.#emitAlone(side, views, rows);
        kept = 0;
      }
    }
    if (kept > 0) this.#emitAlone(side, views, rows.subarray(0, kept));
  }

  #emitAlone(side: "left" | "right", views: readonly ColumnView[], rows: Int32Array): void {
    this.#left.clear();
    this.#right.clear();
    const [own, other] = side === "left" ? [this.#left, this.#right] : [this.#right, this.#left];
    own.append(views, rows);
    other.appendNulls(rows.length);
    const rowCount = rows.length;
    const columns = [...this.#left.columns(0, rowCount), ...this.#right.columns(0, rowCount)];
    this.#emit({ rowCount, columns: [...this.head(rowCount), ...columns], selection: undefined });
  }
}
