/**
 * A stream of events, kept open by a link: over a WebSocket, of which a browser allows many more
 * than the six HTTP connections that all tabs share. Where none can be opened (a proxy that knows
 * no WebSockets) the same address is asked every `pollMs` for its first event, the state of now, and
 * the connection is closed again: streams that stay open would leave none for the fourth tab.
 * A WebSocket is tried again every `pollingMs`.
 */
import { ApiError, request } from "./http.ts";
import { type Dialled, Link, type LinkOptions } from "./link.ts";
import { followSocket, type SocketEnd } from "./socket.ts";
import { type SseEvent, SseParser } from "./sse.ts";

export interface SubscriptionOptions extends Omit<LinkOptions, "dial"> {
  /** Asked before every dial, so that it can name the last revision seen. */
  readonly path: () => string;
  readonly onEvent: (event: SseEvent) => void;
}

const pollMs = 2_000;
const pollingMs = 30_000;
/** Of the whole tab: what one subscription learnt the others need not try. */
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
 * Returns where HTTP is answered and WebSockets are not. A coordinator that was away, and came back
 * between the two, says nothing of WebSockets: so they are tried once more.
 */
async function trySockets(options: SubscriptionOptions, dialled: Dialled): Promise<void> {
  const ended = new Error("The stream ended.");
  if ((await readSocket(options, dialled)).wasOpen) throw ended;
  await readFirst(stateAddress(options.path()), dialled.signal); // A refusal has its status there.
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

/** Until it is time to try a WebSocket again. */
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

/** From a revision on there would be nothing to read until something changes. */
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
