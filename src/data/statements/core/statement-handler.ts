/** What a kind of statement registers with the router: how it begins, who may run it, and what it does. */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { OthersAfter, TokenCursor } from "../../sql/core/index.ts";
import type { LocalAnswer } from "./local-answer.ts";

export interface StatementHandler {
  /**
   * The first words of its statements, in capitals. The longest registered head that a statement
   * begins with decides; OR REPLACE after CREATE does not count.
   */
  readonly heads: readonly string[];
  /** From the statement's first token to its end. Throws `bad_sql`. */
  parse(cursor: TokenCursor, othersAfter: OthersAfter): ParsedStatement;
}

export interface ParsedStatement {
  /** What the caller's token must allow: `operate` where the statement changes something. */
  readonly role: "read" | "operate";
  /** Rejects as long as nothing of the answer is known; later failures are in the stream. */
  run(request: StatementRequest): Promise<LocalAnswer | StreamedAnswer>;
}

export interface StatementRequest {
  readonly queryId: QueryId;
  /** The whole statement as a person wrote it, with its comments. */
  readonly text: string;
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The file of a COPY. */
  readonly uploadId: string | undefined;
  readonly signal: AbortSignal;
}

/** Lines of JSON: columns, rows, summary. A subscription's stream goes on until its signal aborts. */
export interface StreamedAnswer {
  readonly queryId: QueryId;
  readonly stream: AsyncIterable<Uint8Array>;
}
