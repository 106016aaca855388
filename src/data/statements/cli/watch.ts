/**
 * Follows a table of the catalog. A broken stream is resumed by its last revision, so that no
 * change is missed when the coordinator restarts.
 */

import type { CommandContext } from "../../../ground/command/index.ts";
import { exitCodes, Failure, linesOf, sseEvents } from "../../../ground/command/index.ts";
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { WatchMessage } from "../http/watch-messages.ts";
import { WatchView } from "./watch-view.ts";

/** The server sends something every 15 s. */
const silenceMsMax = 40_000;
const retry = { minMs: 250, maxMs: 5_000 };

export interface WatchOptions {
  readonly revision?: string;
  /** The number of events to end after. */
  readonly count?: string;
}

export async function runWatch(
  context: CommandContext,
  what: string,
  options: WatchOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { terminal, json } = context;
  const view = new WatchView(terminal);
  const countMax = options.count === undefined ? Number.POSITIVE_INFINITY : Number(options.count);
  let count = 0;
  let revision = options.revision;
  let failures = 0;
  let connected = false;
  while (!signal.aborted) {
    try {
      for await (const message of eventsOf(context, what, revision, signal)) {
        if (failures > 0) terminal.err(terminal.paintError.dim("connected again\n"));
        connected = true;
        failures = 0;
        revision = String(message.revision);
        if (json) terminal.out(`${JSON.stringify(message)}\n`);
        else view.show(message, clock.wallMs());
        count += 1;
        if (count >= countMax) return;
      }
      if (signal.aborted) return;
      throw new Failure("stream_ended", "the coordinator ended the stream", exitCodes.unreachable);
    } catch (thrown) {
      if (signal.aborted) return;
      if (!connected || !isPassing(thrown)) throw thrown;
      failures += 1;
      terminal.err(terminal.paintError.dim(`${messageOf(thrown)}; trying again\n`));
      await sleep(clock, backoffMs(retry, failures), signal);
    }
  }
}

async function* eventsOf(
  { client }: CommandContext,
  what: string,
  revision: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<WatchMessage> {
  const query = new URLSearchParams(
    /^\s*(watch|select)\s/i.test(what) ? { select: what } : { table: what },
  );
  const headers = {
    accept: "text/event-stream",
    ...(revision === undefined ? {} : { "last-event-id": revision }),
  };
  const response = await client.open(`/api/v1/watch?${query}`, { headers, signal, silenceMsMax });
  for await (const { event, data } of sseEvents(linesOf(response))) {
    if (event !== "error") {
      yield JSON.parse(data) as WatchMessage;
      continue;
    }
    const { code, message } = JSON.parse(data) as { code: string; message: string };
    throw new Failure(code, message, exitCodes.unreachable);
  }
}

/** Whether to retry: not after a user's mistake, but while a coordinator restarts or stands by. */
function isPassing(thrown: unknown): boolean {
  if (!(thrown instanceof Failure)) return true;
  if (thrown.exitCode === exitCodes.unreachable) return true;
  return ["shutting_down", "not_leader", "store_unavailable", "overloaded"].includes(thrown.code);
}
