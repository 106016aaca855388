/** Reads a preview from the worker that runs its sink, as fast as the caller takes it. */
import { connect, constants } from "node:http2";
import { type Clock, repeat } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { TlsFiles } from "../../../../ground/kernel/tls.ts";
import type { QueryRun } from "../core/stream-host.ts";
import { previewPath } from "./serve-previews.ts";

export interface PreviewReaderOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly tls?: TlsFiles;
}

/** Rows as lines of JSON, and what was left out until behind them. */
export interface PreviewRows {
  readonly lines: readonly string[];
  readonly leftOut: number;
}

/** The port of an idle connection is closed after 30 s. */
const pingMs = 5_000;
/** A longer line is an error. */
const lineCharactersMax = 64 * 1024 * 1024;

/**
 * Ends when the sources have ended. Throws `worker_unreachable` when the worker has no such
 * preview, or what it says breaks off.
 */
export async function* readPreview(
  address: string,
  run: QueryRun,
  { headers, clock, tls }: PreviewReaderOptions,
  signal: AbortSignal,
): AsyncGenerator<PreviewRows> {
  const session = connect(address, { ...tls });
  session.on("error", () => undefined); // The stream is told.
  const pings = repeat(clock, pingMs, () => {
    if (!session.closed && !session.connecting) session.ping(() => undefined);
  });
  const stream = session.request({
    ...headers,
    [constants.HTTP2_HEADER_METHOD]: "GET",
    [constants.HTTP2_HEADER_PATH]: previewPath(run),
  });
  const abort = (): void => void stream.destroy();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  let status = 0;
  stream.on("response", (answer) => {
    status = Number(answer[constants.HTTP2_HEADER_STATUS]);
  });
  const decoder = new TextDecoder();
  let rest = "";
  let leftOut = 0;
  try {
    for await (const chunk of stream) {
      const parts = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      if (rest.length > lineCharactersMax) throw lost("it sends a line without an end");
      const lines: string[] = [];
      let hasEnded = false;
      for (const line of parts) {
        if (!line.startsWith("{")) {
          lines.push(line);
          continue;
        }
        const said = JSON.parse(line) as { readonly left_out: number; readonly ended?: boolean };
        leftOut = said.left_out;
        hasEnded ||= said.ended === true;
      }
      yield { lines, leftOut };
      if (hasEnded) return;
    }
    throw lost(status === 200 ? "what it sends broke off" : `it answered with status ${status}`);
  } catch (thrown) {
    throw thrown instanceof OperatingError ? thrown : lost((thrown as Error).message);
  } finally {
    signal.removeEventListener("abort", abort);
    pings.cancel();
    session.destroy();
  }
}

function lost(why: string): OperatingError {
  const message = `the worker that shows the preview was lost: ${why}`;
  return new OperatingError("worker_unreachable", "backoff", message, { hint: "Start it again." });
}
