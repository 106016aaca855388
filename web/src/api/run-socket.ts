/** `/ws/test/{run_id}`: the whole state of a run once a second, over one WebSocket that is kept open by a link. */
import { request, storedToken } from "./http.ts";
import { type Dialled, Link, type LinkOptions } from "./link.ts";
import type { RunUpdate } from "./load-types.ts";

export interface RunSocketOptions extends Omit<LinkOptions, "dial" | "silenceMsMax"> {
  readonly runId: string;
  readonly onUpdate: (update: RunUpdate) => void;
}

/** The run has ended and nothing more will come. */
const normal = 1000;

export class RunSocket extends Link {
  constructor(options: RunSocketOptions) {
    super({ ...options, silenceMsMax: 8_000, dial: (dialled) => follow(options, dialled) });
  }
}

async function follow({ runId, onUpdate }: RunSocketOptions, dialled: Dialled): Promise<void> {
  const { signal, opened, heard } = dialled;
  const closed = Promise.withResolvers<CloseEvent>();
  const socket = new WebSocket(addressOf(runId), protocols());
  let isOpen = false;
  socket.addEventListener("open", () => {
    isOpen = true;
    opened();
  });
  socket.addEventListener("message", ({ data }) => {
    heard();
    onUpdate((JSON.parse(String(data)) as { readonly data: RunUpdate }).data);
  });
  socket.addEventListener("close", (event) => closed.resolve(event));
  const abandon = (): void => {
    socket.close();
    closed.reject(new Error("abandoned"));
  };
  signal.addEventListener("abort", abandon, { once: true });
  try {
    const { code } = await closed.promise;
    if (code === normal) return;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
  // A browser does not say why a WebSocket was refused; the same question over HTTP does.
  if (!isOpen) await request(`/api/tests/${encodeURIComponent(runId)}`, { signal });
  throw new Error("The connection ended.");
}

function addressOf(runId: string): string {
  const url = new URL(`/ws/test/${encodeURIComponent(runId)}`, window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** A token goes as a subprotocol: a WebSocket has no headers of ours, and addresses are logged. */
function protocols(): string[] {
  const token = storedToken();
  return ["capstan", ...(token === undefined ? [] : [`bearer.${token}`])];
}
