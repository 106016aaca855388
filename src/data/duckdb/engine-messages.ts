/** What a process and its engine's process say to each other. Each request has one answer with its id. */
import type { ToChild } from "../../ground/kernel/node/child-messages.ts";
import type { ProducedFile } from "../../ground/work/core/index.ts";
import type { SessionRows } from "./lane-sessions.ts";

export interface InstanceOptions {
  /** By DuckDB's own count. */
  readonly memoryLimitBytes: number;
  readonly threads: number;
  readonly spoolDir: string;
  /** Of this process of the engine alone. */
  readonly tempDir: string;
  readonly tempBytesMax: number;
  readonly connections: number;
  readonly queueMax: number;
  /** Of a row as text: whoever reads rows has each whole in memory. */
  readonly rowBytesMax: number;
  readonly readableDirs: readonly string[];
}

/** A name that a statement may use, and the SELECT that it stands for. Ours, not a person's: it may read files. */
export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly sql: string;
}

/** Where a reader of an artifact stands: enough for any process to go on from there. */
export interface RowCursor {
  readonly nextRow: number;
  readonly pageRows: number;
}

export type EngineRequest =
  | {
      readonly kind: "execute";
      readonly sql: string;
      readonly path: string;
      readonly bytesMax: number;
      readonly relations: readonly Relation[];
    }
  | { readonly kind: "parse"; readonly sql: string }
  | { readonly kind: "openSession"; readonly relations: readonly Relation[] }
  | { readonly kind: "runInSession"; readonly session: number; readonly sql: string }
  | { readonly kind: "closeSession"; readonly session: number }
  | {
      readonly kind: "readPage";
      readonly path: string;
      /** Chosen by the asker, the same for all pages of one reader. */
      readonly reader: number;
      /** Absent: the first page. */
      readonly cursor: RowCursor | undefined;
    };

export type ToEngine = ToChild<InstanceOptions, EngineRequest>;

export interface ColumnHeader {
  readonly name: string;
  readonly type: string;
}

/** Rows as NDJSON, each line ended. */
export interface RowPage {
  readonly columns: readonly ColumnHeader[];
  /**
   * A file of the engine's temporary directory, which the asker deletes: large pages do not travel
   * by message.
   */
  readonly rows: Uint8Array | { readonly file: string };
  /** Absent: no rows follow. */
  readonly next: RowCursor | undefined;
}

export type EngineAnswer =
  | ProducedFile
  | RowPage
  | string
  | { readonly session: number }
  | SessionRows;
