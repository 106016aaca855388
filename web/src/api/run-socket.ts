/**
 * `/ws/test/{run_id}`: the whole state of a run once a second, over a WebSocket that a link keeps
 * open.
 */

import type { RunUpdate } from "./gen/types.ts";
import { request } from "./http.ts";
import { type Dialled, Link, type LinkOptions } from "./link.ts";
import { followSocket } from "./socket.ts";

export interface RunSocketOptions extends Omit<LinkOptions, "dial" | "silenceMsMax"> {
  readonly runId: string;
  readonly onUpdate: (update: RunUpdate) => void;
}

/** The close code of a run that has ended: nothing more will come. */
const normal = 1000;

export class RunSocket extends Link {
  constructor(options: RunSocketOptions) {
    super({ ...options, silenceMsMax: 8_000, dial: (dialled) => follow(options, dialled) });
  }
}

async function follow(
  { runId, onUpdate }: RunSocketOptions,
  { signal, opened, heard }: Dialled,
): Promise<void> {
  const id = encodeURIComponent(runId);
  const { wasOpen, code } = await followSocket(`/ws/test/${id}`, signal, {
    opened,
    message: (text) => {
      heard();
      onUpdate((JSON.parse(text) as { readonly data: RunUpdate }).data);
    },
  });
  if (code === normal) return;
  // A browser does not report why a WebSocket was refused; the same request over HTTP does.
  if (!wasOpen) await request(`/api/tests/${id}`, { signal });
  throw new Error("The connection ended.");
}
