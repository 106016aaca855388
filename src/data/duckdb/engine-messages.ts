/** What a process asks its engine's process. */
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

export interface WriteOrder {
  readonly sql: string;
  readonly path: string;
  readonly bytesMax: number;
  readonly relations: readonly Relation[];
}

export interface PageOrder {
  readonly path: string;
  /** Chosen by the asker, the same for all pages of one reader. */
  readonly reader: number;
  /** Absent: the first page. */
  readonly cursor: RowCursor | undefined;
}

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

/** A request that tells it began has a connection: from here on it can do harm. */
export interface EngineService {
  readonly requests: {
    execute(order: WriteOrder, began: "began"): ProducedFile;
    parse(sql: string, began: "began"): string;
    /** Answers with the session's number. */
    openSession(relations: readonly Relation[], began: "began"): number;
    runInSession(statement: { readonly session: number; readonly sql: string }): SessionRows;
    closeSession(session: number): void;
    readPage(order: PageOrder, began: "began"): RowPage;
  };
  readonly notes: Record<never, never>;
}
