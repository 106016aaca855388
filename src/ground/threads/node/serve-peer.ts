/**
 * The inside of a thread or child process: answers requests and ends when told to (TK5), and as a
 * process also when its channel is gone (TK6).
 */
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../../kernel/errors.ts";
import { Conversation } from "../core/conversation.ts";
import { type ErrorRules, encodeError } from "../core/error-codec.ts";
import type { Asked, Handlers, Message, Side, Silent, Transfer } from "../core/talk.ts";

export interface Served<Near extends Side> extends Handlers<Near> {
  /** Ends what is open between requests. Called when all requests have been aborted. */
  stopping?(): Promise<void> | void;
  /** Called when nothing is under way. */
  close?(): Promise<void> | void;
}

/** The owner that started this thread or process. */
export interface Starter<Far extends Side> extends Asked<Far> {
  /** Reports that this end no longer works. */
  broken(thrown: unknown): void;
}

interface Place {
  readonly sharesMemory: boolean;
  send(message: Message, transfer: Transfer): void;
  listen(heard: (message: Message) => void): void;
  /** Ends when nothing is left to do. */
  leave(): void;
  /** Ends at once, without closing anything. */
  abandon(): void;
}

/** `open` gets the options that it was started with. What it throws is reported as `broken`. */
export function servePeer<Near extends Side, Options = undefined, Far extends Side = Silent>(
  open: (options: Options, starter: Starter<Far>) => Served<Near> | Promise<Served<Near>>,
  errors: ErrorRules = {},
): void {
  const place = parentPort === null ? processPlace() : threadPlace();
  const conversation = new Conversation<Far, Near>(place, errors);
  const send = (message: Message): void => place.send(message, []);
  const starter: Starter<Far> = {
    ask: (name, argument, options) => conversation.ask(name, argument, options),
    tell: (name, argument, transfer) => conversation.tell(name, argument, transfer),
    broken: (thrown) => send({ kind: "broken", error: encodeError(thrown, errors) }),
  };
  let opened: Promise<Served<Near> | undefined> | undefined;
  const begin = async (options: Options): Promise<Served<Near> | undefined> => {
    try {
      const served = await open(options, starter);
      conversation.serve(served);
      send({ kind: "ready" });
      return served;
    } catch (thrown) {
      starter.broken(thrown);
      place.abandon();
      return undefined;
    }
  };
  let isStopping: boolean = false;
  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    const served = await opened;
    conversation.abortAll();
    await served?.stopping?.();
    await new Promise<void>((resolve) => conversation.whenIdle(resolve));
    await served?.close?.();
    place.leave();
  };
  place.listen((message) => {
    if (message.kind === "open") opened = begin(message.options as Options);
    else if (message.kind === "stop") void stop();
    else if (message.kind !== "ready" && message.kind !== "broken") conversation.receive(message);
  });
}

function threadPlace(): Place {
  const port = parentPort;
  assert(port !== null, "this is a thread");
  return {
    sharesMemory: true,
    send: (message, transfer) =>
      transfer.length === 0
        ? port.postMessage(message)
        : port.postMessage(message, transfer as ArrayBuffer[]),
    listen: (heard) => {
      port.on("message", heard);
      // Runs after the whole module, because `open` may use definitions below this call.
      queueMicrotask(() => heard({ kind: "open", options: workerData }));
    },
    leave: () => port.close(),
    abandon: () => process.exit(1), // Ends only this thread.
  };
}

/** TK6. */
function processPlace(): Place {
  assert(process.send !== undefined, "this is a process with a channel");
  // `process.exit` would wait for libuv's threads, and so for native code.
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // A terminal's Ctrl-C reaches every process of its group; the owner of this process decides.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => undefined);
  }
  return {
    sharesMemory: false,
    send: (message) => {
      if (process.connected) process.send?.(message);
    },
    listen: (heard) => process.on("message", heard),
    leave: () => process.disconnect(),
    // The message is on its way, and its receiver ends this process.
    abandon: () => undefined,
  };
}
