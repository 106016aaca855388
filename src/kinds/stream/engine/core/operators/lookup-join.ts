/**
 * Joins rows with a table that somebody else keeps: each row meets the version that is there when
 * it arrives. The operator has no state of its own. Rule: SX55.
 */
import { DialectError, type LookupJoinOp, type Schema } from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
import type { LookupTable, LookupVersion, Operator, OperatorContext } from "../operator.ts";
import { allRows, type ColumnView, viewOf } from "../tables/column-view.ts";
import { createJoinLoops, type JoinLoops, JoinTable } from "../tables/join-table.ts";
import { RowStore } from "../tables/row-store.ts";
import { JoinOutput } from "./join-output.ts";

export function createLookupJoin(
  op: LookupJoinOp,
  [input = []]: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  const table = context.lookupTable?.(op.table, op.columns);
  if (table === undefined) {
    throw new DialectError(2008, `there is no lake here to look up the table ${op.table} in`);
  }
  return new LookupJoin(op, input, context, table);
}

class LookupJoin implements Operator {
  readonly #op: LookupJoinOp;
  readonly #context: OperatorContext;
  readonly #table: LookupTable;
  readonly #loops: JoinLoops;
  readonly #output: JoinOutput;
  readonly #rows: RowStore;
  #version: LookupVersion | undefined;
  #views: readonly ColumnView[] = [];
  #index: JoinTable | undefined;

  constructor(op: LookupJoinOp, input: Schema, context: OperatorContext, table: LookupTable) {
    this.#op = op;
    this.#context = context;
    this.#table = table;
    this.#loops = createJoinLoops(op.keys, input, op.columns);
    this.#output = new JoinOutput(input, op.columns, op.residual, context.emit);
    this.#rows = new RowStore(input.map(({ type }) => type));
  }

  push(_input: number, batch: Batch): void {
    const index = this.#renewed();
    // Loops over pairs count rows from 0, so a selection is copied out of its batch first.
    this.#rows.clear();
    this.#rows.append(batch.columns.map(viewOf), batch.selection ?? allRows(batch.rowCount));
    const { views, rowCount } = this.#rows;
    const keepsAll = this.#op.join === "left";
    const matched = new Uint8Array(rowCount);
    const keys = this.#op.keys.map(({ left }) => views[left] as ColumnView);
    index.probe(keys, rowCount, (rows, found) => {
      const passed = this.#output.pairs(views, rows, this.#views, found);
      if (passed === undefined) for (const row of rows) matched[row] = 1;
      else for (const place of passed) matched[rows[place] as number] = 1;
    });
    if (keepsAll) this.#output.alone("left", views, matched, rowCount);
  }

  /** The index over the newest version of the table. */
  #renewed(): JoinTable {
    const { version } = this.#table;
    if (this.#index !== undefined && version === this.#version) return this.#index;
    this.#version = version;
    this.#views = version.columns.map(viewOf);
    const keys = this.#op.keys.map(({ right }) => this.#views[right] as ColumnView);
    this.#index = new JoinTable(this.#loops);
    this.#index.build(keys, version.rowCount);
    this.#context.memory.set(this.#index.bytes);
    return this.#index;
  }
}
