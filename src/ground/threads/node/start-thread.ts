/** Starts a thread whose module serves a conversation (serve-peer.ts). */
import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Side, Silent } from "../core/talk.ts";
import { type Link, Peer, type PeerOptions } from "./peer.ts";

export interface ThreadOptions<Near extends Side = Silent> extends PeerOptions<Near> {
  /** The result of `siblingModule`, by which the program's builder finds the module. */
  readonly module: URL;
  /** The options for the module's `open`. */
  readonly options?: unknown;
  readonly worker?: Pick<WorkerOptions, "name" | "resourceLimits" | "execArgv">;
}

export function startThread<Far extends Side, Near extends Side = Silent>(
  options: ThreadOptions<Near>,
): Peer<Far, Near> {
  const worker = new Worker(options.module, { ...options.worker, workerData: options.options });
  return new Peer(threadLink(worker), options);
}

function threadLink(worker: Worker): Link {
  return {
    sharesMemory: true,
    // An empty list costs Node as much as one with buffers.
    send: (message, transfer) =>
      transfer.length === 0
        ? worker.postMessage(message)
        : worker.postMessage(message, transfer as ArrayBuffer[]),
    listen: ({ heard, failed, exited }) => {
      worker.on("message", heard);
      worker.on("error", (thrown) => failed(asError(thrown)));
      worker.on("exit", (code) => exited(`it ended with code ${code}`));
    },
    kill: () => void worker.terminate(),
    keepAlive: (isWanted) => (isWanted ? worker.ref() : worker.unref()),
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
