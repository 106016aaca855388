/** Runs one statement and prints its rows as they come. */

import type { CommandContext } from "../../../ground/command/index.ts";
import {
  exitCodeOf,
  exitCodes,
  Failure,
  formatBytes,
  formatCount,
  formatDuration,
  linesOf,
  TableWriter,
} from "../../../ground/command/index.ts";
import type { ErrorDetails } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { scanTokens } from "../../sql/core/index.ts";
import { cellText, parseExactJson } from "./exact-json.ts";
import { uploadFor } from "./upload-file.ts";
import { runWatch } from "./watch.ts";

interface Header {
  readonly query_id: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

interface Trailer {
  readonly summary?: {
    readonly row_count: number;
    readonly duration_ms: number;
    readonly worker_id: string | null;
    readonly artifact_bytes: number;
  };
  readonly error?: ErrorDetails & { readonly code: string; readonly message: string };
}

const numeric = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|REAL|DECIMAL)/;

export async function runStatement(
  context: CommandContext,
  sql: string,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { client, terminal, json } = context;
  const watched = watchedOf(sql);
  if (watched !== undefined) {
    if (terminal.interactive && !json) terminal.err(terminal.paintError.dim("Ctrl-C ends it.\n"));
    await runWatch(context, watched, {}, realClock, signal);
    return;
  }
  const uploadId = await uploadFor(context, sql, signal);
  const response = await client.open("/api/v1/sql", {
    method: "POST",
    body: {
      sql,
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
      ...(uploadId === undefined ? {} : { upload_id: uploadId }),
    },
    signal,
  });
  let table: TableWriter | undefined;
  let trailer: Trailer | undefined;
  for await (const line of linesOf(response)) {
    // As sent: a program wants every digit, and its own parser.
    if (json && !line.startsWith('{"error"')) terminal.out(`${line}\n`);
    if (line.startsWith("[")) {
      if (!json)
        table?.row((parseExactJson(line) as unknown[]).map((cell) => cellText(cell, "NULL")));
    } else if (line.startsWith('{"query_id"')) {
      if (!json) table = tableFor(JSON.parse(line) as Header, terminal);
    } else {
      trailer = JSON.parse(line) as Trailer;
    }
  }
  table?.end();
  if (trailer?.error !== undefined) {
    const { code, message, hint } = trailer.error;
    throw new Failure(code, message, exitCodeOf(code), hint, trailer.error);
  }
  if (trailer?.summary === undefined) {
    throw new Failure("truncated", "the answer broke off before its end", exitCodes.failure);
  }
  if (!json) terminal.err(terminal.paintError.dim(summaryText(trailer.summary)));
}

/** WATCH has its own endpoint. Comments may precede it. */
function watchedOf(sql: string): string | undefined {
  const [first, second] = scanTokens(sql).tokens;
  const isWatch = first?.text.toUpperCase() === "WATCH" && second !== undefined;
  return isWatch ? sql.slice(first.position) : undefined;
}

function tableFor({ columns }: Header, terminal: CommandContext["terminal"]): TableWriter {
  return new TableWriter(
    columns.map(({ name, type }) => ({
      title: name,
      align: numeric.test(type) ? "right" : "left",
    })),
    {
      // A terminal cuts wide cells; a pipe gets all of them.
      widthMax: terminal.interactive
        ? Math.max(40, terminal.columns - 4)
        : Number.POSITIVE_INFINITY,
      paintTitle: terminal.paint.bold,
    },
    terminal.out,
  );
}

function summaryText(summary: NonNullable<Trailer["summary"]>): string {
  const rows = `${formatCount(summary.row_count, "row")} in ${formatDuration(summary.duration_ms)}`;
  if (summary.worker_id === null) return `(${rows})\n`; // Answered by the coordinator.
  return `(${rows}, by ${summary.worker_id}, artifact ${formatBytes(summary.artifact_bytes)})\n`;
}
