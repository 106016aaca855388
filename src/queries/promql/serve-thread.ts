/** The inside of a PromQL thread: takes requests, answers them, ends when it is told to. */
import { parentPort } from "node:worker_threads";
import { assert, OperatingError } from "../../kernel/errors.ts";
import { trimWhenIdle } from "../../kernel/node/trim-when-idle.ts";
import { dataOfError, type FromThread, type ToThread } from "./thread-messages.ts";

/** Whether an answer is still wanted. */
export interface StopFlag {
  /** For what waits. */
  readonly signal: AbortSignal;
  /** For what computes. */
  isSet(): boolean;
  /** Throws `cancelled` when it is set. */
  check(): void;
}

export interface ThreadHandlers<Request, Answer, Post> {
  serve(request: Request, stop: StopFlag): Promise<Answer>;
  /** Buffers of an answer that are handed over instead of copied. */
  transferOf?(answer: Answer): readonly ArrayBuffer[];
  post?(post: Post): void;
  close?(): void;
}

export interface ThreadSide<Note> {
  note(note: Note, transfer?: readonly ArrayBuffer[]): void;
}

export function serveThread<Request, Answer, Post = never, Note = never>(
  handlers: ThreadHandlers<Request, Answer, Post>,
): ThreadSide<Note> {
  const port = parentPort;
  assert(port !== null, "this runs in a thread of its own");
  const aborts = new Map<number, AbortController>();
  let closing: boolean = false;
  const send = (message: FromThread<Answer, Note>, transfer: readonly ArrayBuffer[] = []): void =>
    port.postMessage(message, [...transfer]);
  const closeWhenIdle = (): void => {
    if (!closing || aborts.size > 0) return;
    handlers.close?.();
    port.close();
  };
  const serve = async (id: number, request: Request, word: SharedArrayBuffer): Promise<void> => {
    const abort = new AbortController();
    aborts.set(id, abort);
    try {
      const answer = await handlers.serve(request, stopFlag(new Int32Array(word), abort.signal));
      send({ kind: "answer", id, answer }, handlers.transferOf?.(answer));
    } catch (thrown) {
      send({ kind: "error", id, error: dataOfError(thrown) });
    } finally {
      aborts.delete(id);
      closeWhenIdle();
    }
  };
  port.on("message", (message: ToThread<Request, Post>) => {
    switch (message.kind) {
      case "request":
        void serve(message.id, message.request, message.stop);
        break;
      case "abort":
        aborts.get(message.id)?.abort();
        break;
      case "post":
        handlers.post?.(message.post);
        break;
      case "close":
        closing = true;
        for (const abort of aborts.values()) abort.abort();
        closeWhenIdle();
        break;
    }
  });
  trimWhenIdle();
  send({ kind: "ready" });
  return { note: (note, transfer) => send({ kind: "note", note }, transfer) };
}

function stopFlag(word: Int32Array, signal: AbortSignal): StopFlag {
  const isSet = (): boolean => Atomics.load(word, 0) !== 0 || signal.aborted;
  return {
    signal,
    isSet,
    check: () => {
      if (isSet()) throw new OperatingError("cancelled", "never", "the query was cancelled");
    },
  };
}
