/** The messages between a process and its engine's process. */
import type { ProducedFile } from "../../ground/work/core/index.ts";
import type { SessionRows } from "./lane-sessions.ts";

export interface InstanceOptions {
  /** DuckDB's own limit. */
  readonly memoryLimitBytes: number;
  readonly threads: number;
  readonly spoolDir: string;
  /** Used by this engine process alone. */
  readonly tempDir: string;
  readonly tempBytesMax: number;
  readonly connections: number;
  readonly queueMax: number;
  /** The maximum text of a row, because readers hold each row whole in memory. */
  readonly rowBytesMax: number;
  readonly readableDirs: readonly string[];
}

/** A name that a statement may use, and its SELECT, which is ours and may read files. */
export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly sql: string;
}

/** A reader's position in an artifact, from which any process can continue. */
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
  /** Chosen by the caller, the same for all pages of one reader. */
  readonly reader: number;
  /** Absent for the first page. */
  readonly cursor: RowCursor | undefined;
}

export interface ColumnHeader {
  readonly name: string;
  readonly type: string;
}

/** Rows as NDJSON, each line ended. */
export interface RowPage {
  readonly columns: readonly ColumnHeader[];
  /** A large page is a file in the engine's temporary directory, which the caller deletes. */
  readonly rows: Uint8Array | { readonly file: string };
  /** Absent when no rows follow. */
  readonly next: RowCursor | undefined;
}

/** A request reports `began` once it has a connection: from then on it can do harm. */
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
