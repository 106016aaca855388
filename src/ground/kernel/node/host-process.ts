/**
 * A process that another one started for some purpose, towards that one. It lives as long as the channel between them: when that is
 * gone, however it went, this process ends at once, whatever native code is doing on its threads.
 */
import { type ErrorData, encodeError } from "../error-codec.ts";
import { assert, messageOf, OperatingError } from "../errors.ts";
import type { FromChild, ToChild } from "./child-messages.ts";

export interface Hosted<Request, Answer> {
  /** `began`: from here on it can do harm. Settles when it has stopped. */
  perform(request: Request, signal: AbortSignal, began: () => void): Promise<Answer>;
  /** What was opened on behalf of the asker, and is open between requests. Called when all requests were aborted. */
  endSessions(): Promise<void>;
  /** Nothing is under way. */
  close(): void;
}

export interface HostOptions {
  /** Nothing works after this error. */
  isFatal?(thrown: unknown): boolean;
  /** A message as the asker may see it. */
  shown?(message: string): string;
}

const messageLengthMax = 64 * 1024;

/** Serves until the channel is gone. `open`: with what the first message has. */
export function hostProcess<Open, Request, Answer>(
  open: (options: Open) => Promise<Hosted<Request, Answer>>,
  { isFatal = () => false, shown = (message) => message }: HostOptions = {},
): void {
  assert(process.send !== undefined, "it runs in a process of its own");
  const failed = { isFatal, shown };
  let server: RequestServer<Request, Answer> | undefined;
  const begin = async (options: Open): Promise<void> => {
    try {
      server = new RequestServer(await open(options), failed);
      post({ kind: "ready" });
    } catch (thrown) {
      post({ kind: "fatal", message: shown(messageOf(thrown)) });
    }
  };
  process.on("message", (message: ToChild<Open, Request>) => {
    if (message.kind === "open") void begin(message.options);
    else if (message.kind === "request") void server?.serve(message.id, message.request);
    else if (message.kind === "abort") server?.abort(message.id);
    else void server?.close();
  });
  // Not by `process.exit`: that waits for libuv's threads, and with them for DuckDB.
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // A terminal's Ctrl-C reaches every process of its group; whoever started this one decides when it ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => undefined);
  }
}

class RequestServer<Request, Answer> {
  readonly #hosted: Hosted<Request, Answer>;
  readonly #failed: Required<HostOptions>;
  readonly #aborts = new Map<number, AbortController>();
  #isEnded: boolean = false;

  constructor(hosted: Hosted<Request, Answer>, failed: Required<HostOptions>) {
    this.#hosted = hosted;
    this.#failed = failed;
  }

  async serve(id: number, request: Request): Promise<void> {
    const abort = new AbortController();
    this.#aborts.set(id, abort);
    const began = (): void => post({ kind: "began", id });
    try {
      const answer = await this.#hosted.perform(request, abort.signal, began);
      post<Answer>({ kind: "answer", id, answer });
    } catch (thrown) {
      const { isFatal, shown } = this.#failed;
      // What nobody translated.
      const foreign = (other: unknown): OperatingError =>
        new OperatingError("query_failed", "never", shown(messageOf(other)));
      if (isFatal(thrown)) post({ kind: "fatal", message: shown(messageOf(thrown)) });
      else post({ kind: "error", id, error: shortened(encodeError(thrown, foreign)) });
    } finally {
      this.#aborts.delete(id);
      this.#closeWhenIdle();
    }
  }

  abort(id: number): void {
    this.#aborts.get(id)?.abort();
  }

  async close(): Promise<void> {
    for (const abort of this.#aborts.values()) abort.abort();
    await this.#hosted.endSessions().catch(() => undefined);
    this.#isEnded = true;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (!this.#isEnded || this.#aborts.size > 0) return;
    this.#hosted.close();
    process.disconnect();
  }
}

function post<Answer = never>(message: FromChild<Answer>): void {
  if (process.connected) process.send?.(message);
}

/** A person's statement can throw a text of any size, and whoever asked would have it in memory. */
function shortened(error: ErrorData): ErrorData {
  const { message } = error;
  if (message.length <= messageLengthMax) return error;
  const half = messageLengthMax / 2;
  return { ...error, message: `${message.slice(0, half)} … ${message.slice(-half)}` };
}
