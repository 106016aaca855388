/** What a process and its engine's thread say to each other. Each request has one answer with its id. */
import { type ErrorCode, messageOf, OperatingError, type Retry } from "../../kernel/errors.ts";
import { type ProducedFile, withoutPaths } from "../core/index.ts";
import type { SessionRows } from "./lane-sessions.ts";

export interface EngineThreadOptions {
  readonly memoryLimitBytes: number;
  readonly threads: number;
  readonly spoolDir: string;
  readonly tempDir: string;
  readonly tempBytesMax: number;
  readonly connections: number;
  readonly queueMax: number;
  readonly readableDirs: readonly string[];
}

/** A name that a statement may use, and the SELECT that it stands for. Ours, not a person's: it may read files. */
export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly sql: string;
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
  | { readonly kind: "openRows"; readonly path: string }
  | { readonly kind: "nextPage"; readonly reader: number }
  | { readonly kind: "checksum"; readonly path: string };

export type ToEngine =
  | { readonly kind: "request"; readonly id: number; readonly request: EngineRequest }
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "closeReader"; readonly reader: number }
  | { readonly kind: "close" };

export interface ColumnHeader {
  readonly name: string;
  readonly type: string;
}

/** Rows as NDJSON, each line ended. */
export interface RowPage {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** No rows follow. */
  readonly last: boolean;
}

export interface OpenedRows {
  readonly reader: number;
  readonly columns: readonly ColumnHeader[];
  readonly first: RowPage;
}

export type EngineAnswer =
  | ProducedFile
  | OpenedRows
  | RowPage
  | string
  | { readonly session: number }
  | SessionRows;

export interface ErrorData {
  readonly code: ErrorCode;
  readonly retry: Retry;
  readonly message: string;
  readonly hint: string | undefined;
}

export type FromEngine =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: EngineAnswer }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData }
  /** The instance is broken; nothing will be answered any more. */
  | { readonly kind: "fatal"; readonly message: string };

export function dataOfError(thrown: unknown): ErrorData {
  if (thrown instanceof OperatingError) {
    const { code, retry, message, hint } = thrown;
    return { code, retry, message, hint };
  }
  const message = withoutPaths(messageOf(thrown));
  return { code: "query_failed", retry: "never", message, hint: undefined };
}

export function errorOfData({ code, retry, message, hint }: ErrorData): OperatingError {
  return new OperatingError(code, retry, message, hint === undefined ? {} : { hint });
}
