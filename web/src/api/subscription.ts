/**
 * A stream of events that a link keeps open over a WebSocket, because all tabs share six HTTP
 * connections. Where WebSockets fail (some proxies), the same address is polled every `pollMs` for
 * its first event, the current state, and the connection is closed again: open streams would leave
 * none for the fourth tab. A WebSocket is tried again every `pollingMs`.
 */
import { ApiError, request } from "./http.ts";
import { type Dialled, Link, type LinkOptions } from "./link.ts";
import { followSocket, type SocketEnd } from "./socket.ts";
import { type SseEvent, SseParser } from "./sse.ts";

export interface SubscriptionOptions extends Omit<LinkOptions, "dial"> {
  /** Called before every dial, so that it can name the last revision seen. */
  readonly path: () => string;
  readonly onEvent: (event: SseEvent) => void;
}

const pollMs = 2_000;
const pollingMs = 30_000;
/** Shared by all subscriptions of the tab: if one has to poll, all do. */
let pollingUntilMs = 0;

export class Subscription extends Link {
  constructor(options: SubscriptionOptions) {
    super({ ...options, dial: (dialled) => readEvents(options, dialled) });
  }
}

async function readEvents(options: SubscriptionOptions, dialled: Dialled): Promise<never> {
  for (;;) {
    if (Date.now() >= pollingUntilMs) await trySockets(options, dialled);
    await poll(options, dialled);
  }
}

/**
 * Returns when HTTP is answered and WebSockets are not. They are tried twice, because a coordinator
 * may have come back between the two requests.
 */
async function trySockets(options: SubscriptionOptions, dialled: Dialled): Promise<void> {
  const ended = new Error("The stream ended.");
  if ((await readSocket(options, dialled)).wasOpen) throw ended;
  // Over HTTP a refusal has its status.
  await readFirst(stateAddress(options.path()), dialled.signal);
  if ((await readSocket(options, dialled)).wasOpen) throw ended;
  pollingUntilMs = Date.now() + pollingMs;
}

async function readSocket(
  { path, onEvent }: SubscriptionOptions,
  dialled: Dialled,
): Promise<SocketEnd> {
  const parser = new SseParser();
  let isFirst = true;
  return await followSocket(path(), dialled.signal, {
    message: (text) => {
      const events = parser.push(text);
      // A refusal is the only event of its socket; over HTTP it would be a status.
      const refusal = isFirst ? events.flatMap((event) => refusalOf(event) ?? []).at(0) : undefined;
      if (refusal !== undefined) throw refusal;
      if (isFirst) dialled.opened();
      isFirst = false;
      dialled.heard();
      for (const event of events) onEvent(event);
    },
  });
}

/** Polls until it is time to try a WebSocket again. */
async function poll(
  { path, onEvent }: SubscriptionOptions,
  { signal, opened, heard }: Dialled,
): Promise<void> {
  let last: string | undefined;
  do {
    const event = await readFirst(stateAddress(path()), signal);
    opened();
    heard();
    if (event.data !== last) onEvent(event);
    last = event.data;
    await rest(pollMs, signal);
  } while (Date.now() < pollingUntilMs);
}

function refusalOf({ event, data }: SseEvent): ApiError | undefined {
  if (event !== "error") return undefined;
  const { code, message, status = 500, hint } = JSON.parse(data) as Refusal;
  return new ApiError(code, message, status, hint);
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly status?: number;
  readonly hint?: string;
}

/** Drops the revision: with one, there would be no event until something changes. */
function stateAddress(path: string): string {
  const { pathname, searchParams } = new URL(path, window.location.href);
  searchParams.delete("revision");
  return `${pathname}?${searchParams}`;
}

async function readFirst(address: string, signal: AbortSignal): Promise<SseEvent> {
  const enough = new AbortController();
  const response = await request(address, {
    signal: AbortSignal.any([signal, enough.signal]),
    headers: { accept: "text/event-stream" },
  });
  const parser = new SseParser();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) throw new Error("The stream ended.");
      const [event] = parser.push(chunk.value);
      if (event !== undefined) return event;
    }
  } finally {
    enough.abort();
  }
}

function rest(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    const abandon = (): void => {
      clearTimeout(timer);
      reject(new Error("abandoned"));
    };
    if (signal.aborted) abandon();
    else signal.addEventListener("abort", abandon, { once: true });
  });
}
