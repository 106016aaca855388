/**
 * A WebSocket to the API. It does not count towards the six HTTP connections to a host that a
 * browser allows over all tabs.
 */
import { storedToken } from "./http.ts";

export interface SocketEnd {
  /** False when the socket was refused; the browser does not report why. */
  readonly wasOpen: boolean;
  /** 1000 means that nothing more will come. */
  readonly code: number;
}

/** Shorter than the silence of any link: some proxies neither pass on nor refuse a WebSocket. */
const openMsMax = 2_000;
/** A browser's code for a socket that was not closed cleanly. */
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

/**
 * The token is sent as a subprotocol: a WebSocket has no custom headers, and addresses are logged.
 */
function protocols(): string[] {
  const token = storedToken();
  return ["capstan", ...(token === undefined ? [] : [`bearer.${token}`])];
}
