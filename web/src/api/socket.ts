/**
 * A WebSocket to the API. A browser allows six HTTP connections to a host over all tabs, and does
 * not count these.
 */
import { storedToken } from "./http.ts";

export interface SocketEnd {
  /** `false`: it was refused, for a reason that the browser does not tell. */
  readonly wasOpen: boolean;
  /** 1000: nothing more will come. */
  readonly code: number;
}

/** Less than any link waits for a word: some proxies neither pass a WebSocket on nor refuse it. */
const openMsMax = 2_000;
/** As a browser says of a socket that was never closed in order. */
const abnormal = 1006;

/**
 * Resolves when the socket has closed, or did not open in time; rejects when `signal` aborts, or
 * when `onMessage` throws.
 */
export async function followSocket(
  path: string,
  signal: AbortSignal,
  on: { readonly opened?: () => void; readonly message: (text: string) => void },
): Promise<SocketEnd> {
  const ended = Promise.withResolvers<SocketEnd>();
  const socket = new WebSocket(addressOf(path), protocols());
  let wasOpen = false;
  const late = setTimeout(() => ended.resolve({ wasOpen, code: abnormal }), openMsMax);
  socket.addEventListener("open", () => {
    clearTimeout(late);
    wasOpen = true;
    on.opened?.();
  });
  socket.addEventListener("message", ({ data }) => {
    try {
      on.message(String(data));
    } catch (error) {
      ended.reject(error);
    }
  });
  socket.addEventListener("close", ({ code }) => ended.resolve({ wasOpen, code }));
  const abandon = (): void => ended.reject(new Error("abandoned"));
  signal.addEventListener("abort", abandon, { once: true });
  if (signal.aborted) abandon();
  try {
    return await ended.promise;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", abandon);
    socket.close();
  }
}

function addressOf(path: string): string {
  const url = new URL(path, window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** A token goes as a subprotocol: a WebSocket has no headers of ours, and addresses are logged. */
function protocols(): string[] {
  const token = storedToken();
  return ["capstan", ...(token === undefined ? [] : [`bearer.${token}`])];
}
