/** Nexmark's events in memory: columns that were read from the files once, given as batches. */
import { readFileSync } from "node:fs";
import {
  type Batch,
  batchRowsMax,
  createRecordParser,
} from "../../src/kinds/stream/engine/core/index.ts";
import { allRows, viewOf } from "../../src/kinds/stream/engine/core/tables/column-view.ts";
import { RowStore } from "../../src/kinds/stream/engine/core/tables/row-store.ts";
import type { SourceOp } from "../../src/kinds/stream/language/core/index.ts";
import type { SourceReader } from "../../src/kinds/stream/run/core/connector.ts";

export class MemoryEvents {
  /** By path and columns. */
  readonly #stores = new Map<string, RowStore>();

  /** Reads the file of a source before it is wanted, so that nobody counts the time of it. */
  load(op: SourceOp): void {
    this.#store(op);
  }

  /** Calls `onBatch` with the number of each batch before it is given. */
  open(op: SourceOp, onBatch: (batch: number) => void): SourceReader {
    const rows = this.#store(op);
    let at = 0;
    return {
      bounded: true,
      read: () => {
        const count = Math.min(batchRowsMax, rows.rowCount - at);
        if (count <= 0) return Promise.resolve({ kind: "end" });
        onBatch(at / batchRowsMax);
        const columns = rows.columns(at, at + count);
        at += count;
        const batch: Batch = { rowCount: count, columns, selection: undefined };
        return Promise.resolve({ kind: "rows", batch });
      },
      position: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  #store(op: SourceOp): RowStore {
    const path = String(op.config.FILE_PATH);
    const key = `${path} ${op.columns.join(" ")}`;
    let store = this.#stores.get(key);
    if (store === undefined) {
      store = read(op, path);
      this.#stores.set(key, store);
    }
    return store;
  }
}

function read(op: SourceOp, path: string): RowStore {
  const types = op.columns.map((column) => {
    const field = op.record[column];
    if (field === undefined) throw new Error(`${op.name} has no column ${column}`);
    return field.type;
  });
  const rows = new RowStore(types);
  const parser = createRecordParser(op, {
    emit: ({ columns, rowCount }) => rows.append(columns.map(viewOf), allRows(rowCount)),
    malformed: { nulled: () => undefined, skipped: () => undefined },
  });
  parser.push(readFileSync(path));
  parser.end();
  return rows;
}
