/** What a kind of statement registers: how it begins, who may run it, and what it does. */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { OtherLanguage, OthersAfter, TokenCursor } from "../../sql/core/index.ts";
import type { LocalAnswer } from "./local-answer.ts";

export interface StatementHandler {
  /** The first words of its statements, in capitals (SR1). */
  readonly heads: readonly string[];
  /** Parses from the statement's first token to its end. Throws `bad_sql`. */
  parse(cursor: TokenCursor, othersAfter: OthersAfter): ParsedStatement;
}

/** Statements in a language of their own, which reads the text itself (SR6). */
export interface LanguageHandler {
  /** Their first words, in capitals, for errors. */
  readonly heads: readonly string[];
  readonly language: OtherLanguage;
  parseText(text: string): ParsedStatement;
}

export interface ParsedStatement {
  /** The role that the caller's token needs: `operate` if the statement changes something. */
  readonly role: "read" | "operate";
  /** Rejects until the answer has begun; later failures are in the stream. */
  run(request: StatementRequest): Promise<LocalAnswer | StreamedAnswer>;
}

export interface StatementRequest {
  readonly queryId: QueryId;
  /** The whole statement as the user wrote it, with comments. */
  readonly text: string;
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The file of a COPY. */
  readonly uploadId: string | undefined;
  readonly signal: AbortSignal;
}

/** JSON lines: columns, rows, summary. A subscription continues until its signal aborts. */
export interface StreamedAnswer {
  readonly queryId: QueryId;
  readonly stream: AsyncIterable<Uint8Array>;
}
