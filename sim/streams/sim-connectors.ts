/**
 * Sources and sinks of simulated workers. Generators are the production ones; a Lake sink puts its
 * rows into the simulated object store and prepares them for the commit as the production one does.
 */
import type { SnapshotId, TableId } from "../../src/data/lake/index.ts";
import { assert } from "../../src/ground/kernel/errors.ts";
import type { Batch } from "../../src/kinds/stream/engine/core/index.ts";
import { parseGeneratorSchema } from "../../src/kinds/stream/engine/core/index.ts";
import type { SinkWriter } from "../../src/kinds/stream/run/core/connector.ts";
import type { Connectors, OpenSink } from "../../src/kinds/stream/run/core/connectors.ts";
import type { PreparedFiles } from "../../src/kinds/stream/run/core/prepared-files.ts";
import { openGeneratorReader } from "../../src/kinds/stream/run/sources/generator-reader.ts";
import type { Life } from "../engine/life.ts";
import type { StreamObjects, StreamRow } from "./stream-files.ts";

/** A table of the lake as sinks know it. */
export interface SinkTable {
  readonly tableId: TableId;
  readonly name: string;
  /** The folder of its files. */
  readonly path: string;
  readonly snapshot: SnapshotId;
  readonly columns: PreparedFiles["columns"];
}

export interface SimConnectorsOptions {
  readonly life: Life;
  readonly objects: StreamObjects;
  readonly tableOf: (name: string) => SinkTable | undefined;
  /** A name in a folder that was never used. */
  readonly newPath: (folder: string) => string;
}

export function createSimConnectors(options: SimConnectorsOptions): Connectors {
  return {
    openSource: async ({ op, clock, from }) =>
      openGeneratorReader({
        record: op.record,
        columns: op.columns,
        generators: parseGeneratorSchema(String(op.config.GENERATOR_SCHEMA), op.record),
        seed: Number(op.config.SEED),
        stop: "ALL",
        rate: Number(op.config.ROWS_PER_SECOND),
        from,
        clock,
      }),
    openSink: async (sink) => new SimSink(options, sink),
  };
}

class SimSink implements SinkWriter {
  readonly #options: SimConnectorsOptions;
  readonly #run: OpenSink["run"];
  readonly #table: SinkTable;
  #rows: StreamRow[] = [];

  constructor(options: SimConnectorsOptions, { op, run }: OpenSink) {
    const table = options.tableOf(String(op.config.TABLE));
    assert(table !== undefined, "tables are made before queries");
    this.#options = options;
    this.#run = run;
    this.#table = table;
  }

  write(batch: Batch): undefined {
    this.#rows.push(...rowsOf(batch));
  }

  position(): undefined {
    return undefined;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  end(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async prepare(): Promise<string | undefined> {
    const { objects, newPath, life } = this.#options;
    const rows = this.#rows;
    if (rows.length === 0) return undefined;
    this.#rows = [];
    const { tableId, name, path: folder, snapshot, columns } = this.#table;
    const path = newPath(folder);
    const putAtMs = life.wallMs();
    await objects.putRows(path, { kind: "rows", ...this.#run, rows });
    const recordCount = rows.length;
    const prepared: PreparedFiles = {
      ...{ tableId, table: name, readSnapshot: snapshot, columns, putAtMs },
      files: [
        {
          ...{ path, recordCount, sizeBytes: 8 * recordCount, footerSize: 10, rowIds: "fresh" },
          columns: columns.map(({ columnId }, at) => ({
            ...{ columnId, sizeBytes: 8 * recordCount, valueCount: recordCount, nullCount: 0 },
            min: `${Math.min(...rows.map((row) => row[at] ?? 0))}`,
            max: `${Math.max(...rows.map((row) => row[at] ?? 0))}`,
            containsNan: undefined,
          })),
        },
      ],
    };
    return JSON.stringify(prepared);
  }
}

/** All columns are numbers. */
function rowsOf({ rowCount, columns, selection }: Batch): readonly StreamRow[] {
  const places = selection ?? Int32Array.from({ length: rowCount }, (_, at) => at);
  return Array.from(places, (row) =>
    columns.map((column) => (column.kind === "fixed" ? Number(column.values[row]) : Number.NaN)),
  );
}
