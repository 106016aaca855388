/**
 * A thread or a child process of ours, seen from whoever started it: asked and told things, stopped,
 * and noticed when it goes (TK4, TK5). Whether another is started in its place is the owner's
 * decision.
 */
import { type Clock, sleep } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import { Conversation } from "../core/conversation.ts";
import { decodeError, type ErrorRules } from "../core/error-codec.ts";
import type {
  AnswerOf,
  ArgumentOf,
  Asked,
  AskOptions,
  Handlers,
  Message,
  NoteOf,
  ProgressOf,
  RequestOf,
  Side,
  Silent,
  Transfer,
} from "../core/talk.ts";

/** The way to what was started. */
export interface Link {
  /** Both ends see a `SharedArrayBuffer`. */
  readonly sharesMemory: boolean;
  /** Nothing when the other end is gone or going. */
  send(message: Message, transfer: Transfer): void;
  listen(listener: LinkListener): void;
  /** At once, whatever it does. */
  kill(): void;
  /** Whether it keeps this process from ending. */
  keepAlive(isWanted: boolean): void;
}

export interface LinkListener {
  heard(message: Message): void;
  /** Something happened that it will not survive; `exited` follows. */
  failed(cause: Error): void;
  /** It is gone. */
  exited(how: string): void;
}

export interface PeerOptions<Near extends Side = Silent> {
  readonly clock: Clock;
  /** The options of a child process. A thread has them from the beginning. */
  readonly open?: unknown;
  /** What whoever waits is told when it is gone without having been asked to. */
  lost(cause: Error): OperatingError;
  /** What it may ask and tell in turn. */
  readonly handlers?: Handlers<Near>;
  readonly errors?: ErrorRules;
  /** What says that it is broken is killed (the default), or left until it is stopped. */
  readonly whenBroken?: "kill" | "leave";
  /** It keeps this process from ending always (the default), or only while it is asked something. */
  readonly keepsAlive?: "always" | "asked";
}

export interface StopOptions {
  /** How long it may take to end by itself. */
  readonly graceMs?: number;
  /** What whoever asks it from now on is told. */
  readonly reason?: OperatingError;
  /** Whether what it was asked already fails at once (the default), or is waited for. */
  readonly pending?: "fail" | "finish";
}

const graceMsDefault = 2_000;
/** A thread within native code ends after it: then it is not waited for. */
const killMsMax = 2_000;

export class Peer<Far extends Side, Near extends Side = Silent> implements Asked<Far> {
  /** It takes requests. Rejects when it does not come to that. */
  readonly ready: Promise<void>;
  /** Resolves when it is lost; never when it was stopped or killed with a reason. */
  readonly failure: Promise<OperatingError>;
  /** It is gone, however it ended. */
  readonly exited: Promise<void>;
  readonly #link: Link;
  readonly #options: PeerOptions<Near>;
  readonly #conversation: Conversation<Far, Near>;
  #isEnding: boolean = false;
  #isGone: boolean = false;
  /** Why it said that it is broken. */
  #broken: Error | undefined;

  constructor(link: Link, options: PeerOptions<Near>) {
    this.#link = link;
    this.#options = options;
    this.#conversation = new Conversation<Far, Near>(link, options.errors);
    if (options.handlers !== undefined) this.#conversation.serve(options.handlers);
    const ready = Promise.withResolvers<void>();
    const failure = Promise.withResolvers<OperatingError>();
    const exited = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.failure = failure.promise;
    this.exited = exited.promise;
    this.ready.catch(() => undefined); // `failure` tells the same.
    const fail = (cause: Error): void => {
      if (this.#isEnding || this.#conversation.over !== undefined) return;
      const error = options.lost(this.#broken ?? cause);
      this.#conversation.end(error);
      ready.reject(error);
      failure.resolve(error);
    };
    this.#keepAlive();
    link.listen({
      heard: (message) => {
        if (this.#broken !== undefined && options.whenBroken !== "leave") return;
        if (message.kind === "ready") ready.resolve();
        else if (message.kind === "broken") {
          this.#broken = decodeError(message.error, options.errors);
          if (options.whenBroken === "leave") fail(this.#broken);
          else link.kill();
        } else if (message.kind !== "open" && message.kind !== "stop") {
          this.#conversation.receive(message);
          this.#keepAlive();
        }
      },
      failed: fail,
      exited: (how) => {
        this.#isGone = true;
        fail(new Error(how));
        this.#conversation.end(this.#conversation.over ?? closed());
        ready.reject(this.#conversation.over);
        exited.resolve();
      },
    });
    if (options.open !== undefined) link.send({ kind: "open", options: options.open }, []);
  }

  /** Requests that are under way. */
  get pendingCount(): number {
    return this.#conversation.pendingCount;
  }

  /** Why it takes nothing any more. */
  get over(): OperatingError | undefined {
    return this.#conversation.over;
  }

  ask<N extends RequestOf<Far>>(
    name: N,
    argument: ArgumentOf<Far, N>,
    options?: AskOptions<ProgressOf<Far, N>>,
  ): Promise<AnswerOf<Far, N>> {
    const answer = this.#conversation.ask(name, argument, options);
    this.#keepAlive();
    return answer;
  }

  tell<N extends NoteOf<Far>>(name: N, argument: Far["notes"][N], transfer?: Transfer): void {
    this.#conversation.tell(name, argument, transfer);
  }

  /** TK5. Resolves when it is gone: by itself, or killed. */
  async stop(options: StopOptions = {}): Promise<"ended" | "killed"> {
    const { graceMs = graceMsDefault, reason = closed(), pending = "fail" } = options;
    this.#isEnding = true;
    if (pending === "fail") this.#conversation.end(reason);
    if (!this.#isGone) this.#link.send({ kind: "stop" }, []);
    const hasEnded = await within(this.exited, this.#options.clock, graceMs);
    this.#conversation.end(reason);
    if (hasEnded) return "ended";
    await this.kill(reason);
    return "killed";
  }

  /**
   * Ends it now. With a reason whatever waits for it fails with that at once; without one it fails
   * as when the other end is lost, when it is gone. Resolves when it is gone, or after 2 s: a thread
   * within native code ends only after it.
   */
  async kill(reason?: OperatingError): Promise<void> {
    if (reason !== undefined) {
      this.#isEnding = true;
      this.#conversation.end(reason);
    }
    if (this.#isGone) return;
    this.#link.kill();
    if (!(await within(this.exited, this.#options.clock, killMsMax))) this.#link.keepAlive(false);
  }

  #keepAlive(): void {
    if (this.#options.keepsAlive === "asked") this.#link.keepAlive(this.pendingCount > 0);
  }
}

/** Whether `exited` resolves in time. */
export async function within(
  exited: Promise<unknown>,
  clock: Clock,
  graceMs: number,
): Promise<boolean> {
  const patience = new AbortController();
  const late = sleep(clock, graceMs, patience.signal).then(() => false);
  const inTime = await Promise.race([exited.then(() => true), late]);
  patience.abort();
  return inTime;
}

function closed(): OperatingError {
  return new OperatingError("shutting_down", "backoff", "the thread is closed");
}
