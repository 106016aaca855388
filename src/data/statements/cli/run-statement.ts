/** Runs one statement and prints its rows as they come. */

import type { CommandContext } from "../../../ground/command/index.ts";
import {
  brokenAnswer,
  exitCodeOf,
  exitCodes,
  Failure,
  formatBytes,
  formatCount,
  formatDuration,
  linesOf,
  TableWriter,
} from "../../../ground/command/index.ts";
import type { Timer } from "../../../ground/kernel/clock.ts";
import type { ErrorDetails } from "../../../ground/kernel/errors.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { scanTokens } from "../../sql/core/index.ts";
import { cellText, parseExactJson } from "./exact-json.ts";
import { uploadFor } from "./upload-file.ts";
import { runWatch } from "./watch.ts";

interface Header {
  readonly query_id: string;
  /** The continuous query whose rows these are. */
  readonly preview?: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

interface Trailer {
  readonly summary?: Summary;
  /** Why no rows arrive at present. */
  readonly waiting?: string;
  readonly error?: ErrorDetails & { readonly code: string; readonly message: string };
}

interface Summary {
  readonly row_count: number;
  readonly duration_ms: number;
  readonly worker_id: string | null;
  readonly artifact_bytes: number;
  /** A preview's notes: how many rows it left out, and why it ended. */
  readonly left_out?: number;
  readonly ended?: string;
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
  const isLive = firstWordOf(sql) === "PREVIEW";
  if (isLive && terminal.interactive && !json) {
    terminal.err(terminal.paintError.dim("Ctrl-C ends it.\n"));
  }
  const response = await client.open("/api/v1/sql", {
    method: "POST",
    body: {
      sql,
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
      ...(uploadId === undefined ? {} : { upload_id: uploadId }),
    },
    signal,
    ...(isLive ? { silenceMsMax: liveSilenceMsMax } : {}),
  });
  const answer = new PrintedAnswer(context);
  try {
    for await (const line of linesOf(response)) answer.take(line);
    answer.end();
  } catch (thrown) {
    if (isLive && signal.aborted) answer.leave();
    else {
      answer.show();
      throw brokenAnswer(thrown);
    }
  }
}

/** While no rows arrive, the server says why, every few seconds. */
const liveSilenceMsMax = 40_000;
/** Rows of a preview are held back for so long, to find the widths of columns. */
const heldMs = 200;

/** Prints the lines of an answer. */
class PrintedAnswer {
  readonly #context: CommandContext;
  #table: TableWriter | undefined;
  #trailer: Trailer | undefined;
  #isLive = false;
  #rowCount = 0;
  #told = "";
  #held: Timer | undefined;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  take(line: string): void {
    const { terminal, json } = this.#context;
    if (line.startsWith('{"waiting"')) {
      this.#tell(line);
      return;
    }
    // As sent: a program wants every digit, and its own parser.
    if (json && !line.startsWith('{"error"')) terminal.out(`${line}\n`);
    if (line.startsWith("[")) {
      this.#rowCount += 1;
      if (!json)
        this.#row((parseExactJson(line) as unknown[]).map((cell) => cellText(cell, "NULL")));
    } else if (line.startsWith('{"query_id"')) {
      const header = JSON.parse(line) as Header;
      this.#isLive = header.preview !== undefined;
      if (!json) this.#table = tableFor(header, terminal);
    } else {
      this.#trailer = JSON.parse(line) as Trailer;
    }
  }

  /** Ends the output. Throws the error that the answer ended with. */
  end(): void {
    const { terminal, json } = this.#context;
    this.show();
    const { error, summary } = this.#trailer ?? {};
    if (error !== undefined) {
      const { code, message, hint } = error;
      throw new Failure(code, message, exitCodeOf(code), hint, error);
    }
    if (summary === undefined) {
      throw new Failure("truncated", "the answer broke off before its end", exitCodes.failure);
    }
    if (!json) terminal.err(terminal.paintError.dim(summaryText(summary)));
  }

  /** Called when the person stops the command. */
  leave(): void {
    const { terminal, json } = this.#context;
    this.show();
    if (json) return;
    const rows = formatCount(this.#rowCount, "row");
    terminal.err(terminal.paintError.dim(`(${rows}; the preview is over)\n`));
  }

  #row(cells: readonly string[]): void {
    this.#table?.row(cells);
    if (this.#isLive) this.#held ??= realClock.after(heldMs, () => this.show());
  }

  /** Writes the rows that are held back. */
  show(): void {
    this.#held?.cancel();
    this.#held = undefined;
    this.#table?.end();
  }

  #tell(line: string): void {
    const { terminal, json } = this.#context;
    const { waiting = "" } = JSON.parse(line) as Trailer;
    if (json || waiting === this.#told) return;
    this.#told = waiting;
    terminal.err(terminal.paintError.dim(`${waiting}\n`));
  }
}

/** WATCH has its own endpoint. Comments may precede it. */
function watchedOf(sql: string): string | undefined {
  const [first, second] = scanTokens(sql).tokens;
  const isWatch = first?.text.toUpperCase() === "WATCH" && second !== undefined;
  return isWatch ? sql.slice(first.position) : undefined;
}

function firstWordOf(sql: string): string | undefined {
  return scanTokens(sql).tokens[0]?.text.toUpperCase();
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

function summaryText(summary: Summary): string {
  const rows = `${formatCount(summary.row_count, "row")} in ${formatDuration(summary.duration_ms)}`;
  if (summary.ended !== undefined) return `(${[rows, ...previewNotes(summary)].join("; ")})\n`;
  if (summary.worker_id === null) return `(${rows})\n`; // Answered by the coordinator.
  return `(${rows}, by ${summary.worker_id}, artifact ${formatBytes(summary.artifact_bytes)})\n`;
}

const ends: Readonly<Record<string, string>> = {
  limit: "that is the limit; LIMIT n sets another one",
  ended: "its sources have ended",
  time: "a preview ends after ten minutes",
  dropped: "somebody has dropped it",
};

function previewNotes({ left_out: leftOut = 0, ended = "" }: Summary): readonly string[] {
  const slow = `${formatCount(leftOut, "row")} left out because they came faster than they were shown`;
  return [...(leftOut === 0 ? [] : [slow]), ends[ended] ?? ended];
}
