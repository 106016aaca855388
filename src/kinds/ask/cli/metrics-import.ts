/** `capstan metrics import`: sends a file in chunks, then one commit. */
import { createReadStream, statSync } from "node:fs";
import type { CommandContext } from "../../../ground/command/index.ts";
import {
  exitCodes,
  Failure,
  formatBytes,
  formatCount,
  formatDuration,
} from "../../../ground/command/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";

export interface ImportCommandOptions {
  readonly format?: "openmetrics" | "prometheus";
  readonly skipBadLines?: boolean;
}

interface Progress {
  readonly bytes: number;
  readonly samples: number;
  readonly series: number;
}
interface Committed extends Progress {
  readonly skipped: number;
  readonly problems: readonly string[];
}

const chunkBytes = 8 * 1024 ** 2;
/** The commit sorts and writes everything that was sent. */
const commitMsMax = 3_600_000;

export async function runMetricsImport(
  context: CommandContext,
  file: string,
  { format, skipBadLines }: ImportCommandOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { client, terminal, json } = context;
  const startedMs = clock.nowMs();
  const input = openInput(file);
  const { import_id: id } = await client.json<{ import_id: string }>("/api/v1/imports", {
    method: "POST",
    body: {
      on_error: skipBadLines === true ? "skip" : "fail",
      ...(format === undefined ? {} : { format }),
    },
    signal,
  });
  let sentBytes = 0;
  try {
    for await (const chunk of chunksOf(input.stream, file)) {
      const path = `/api/v1/imports/${id}/chunks?offset=${sentBytes}`;
      const call = { method: "POST", bytes: chunk, signal, silenceMsMax: 120_000 };
      const progress = await client.json<Progress>(path, call);
      sentBytes += chunk.length;
      if (terminal.interactive && !json)
        showProgress(context, sentBytes, input.sizeBytes, progress);
    }
    if (terminal.interactive && !json) terminal.err("\r\u001b[K  writing segments…");
    const path = `/api/v1/imports/${id}/commit`;
    const call = { method: "POST", body: {}, signal, silenceMsMax: commitMsMax };
    const done = await client.json<Committed>(path, call);
    if (terminal.interactive && !json) terminal.err("\r\u001b[K");
    report(context, done, clock.nowMs() - startedMs);
  } catch (thrown) {
    if (terminal.interactive && !json) terminal.err("\r\u001b[K");
    await client.open(`/api/v1/imports/${id}`, { method: "DELETE" }).catch(() => undefined);
    throw thrown;
  }
}

function openInput(file: string): { stream: AsyncIterable<Buffer>; sizeBytes: number | undefined } {
  if (file === "-") return { stream: process.stdin, sizeBytes: undefined };
  try {
    const sizeBytes = statSync(file).size;
    return { stream: createReadStream(file, { highWaterMark: chunkBytes }), sizeBytes };
  } catch (thrown) {
    throw unreadable(file, thrown);
  }
}

function unreadable(file: string, thrown: unknown): Failure {
  return new Failure("usage", `cannot read ${file}: ${messageOf(thrown)}`, exitCodes.usage);
}

/** Chunks of about `chunkBytes`, whatever the input's chunks are. */
async function* chunksOf(stream: AsyncIterable<Buffer>, file: string): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  try {
    for await (const chunk of stream) {
      held.push(chunk);
      heldBytes += chunk.length;
      if (heldBytes < chunkBytes) continue;
      yield Buffer.concat(held);
      held = [];
      heldBytes = 0;
    }
  } catch (thrown) {
    throw unreadable(file, thrown); // A directory, say, or a disk's error in the middle.
  }
  if (heldBytes > 0) yield Buffer.concat(held);
}

function showProgress(
  { terminal }: CommandContext,
  sentBytes: number,
  sizeBytes: number | undefined,
  { samples }: Progress,
): void {
  const share = sizeBytes === undefined ? "" : ` ${Math.floor((sentBytes / sizeBytes) * 100)} %`;
  const read = `${formatBytes(sentBytes)}${share}, ${formatCount(samples, "sample")}`;
  terminal.err(`\r\u001b[K  ${read}`);
}

function report({ terminal, json }: CommandContext, done: Committed, tookMs: number): void {
  if (json) {
    terminal.out(`${JSON.stringify(done)}\n`);
    return;
  }
  const { samples, series, skipped, problems } = done;
  const rate = formatCount(Math.round(samples / (tookMs / 1000)), "sample");
  terminal.out(
    `imported ${formatCount(samples, "sample")} of ${series.toLocaleString("en-US")} series in ${formatDuration(tookMs)} (${rate} a second)\n`,
  );
  if (skipped > 0) terminal.err(`left out ${formatCount(skipped, "line")}:\n`);
  for (const problem of problems) terminal.err(`  ${problem}\n`);
}
