/**
 * A thread or child process, as its owner sees it: sends it requests and notes, stops it, and
 * notices its end (TK4, TK5). The owner decides whether to replace it.
 */
import { type Clock, waitAtMost } from "../../kernel/clock.ts";
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

/** The connection to the started thread or process. */
export interface Link {
  /** Whether both ends see a `SharedArrayBuffer`. */
  readonly sharesMemory: boolean;
  /** Does nothing when the other end is gone or ending. */
  send(message: Message, transfer: Transfer): void;
  listen(listener: LinkListener): void;
  /** Ends it at once, whatever it does. */
  kill(): void;
  /** Sets whether it keeps this process from ending. */
  keepAlive(isWanted: boolean): void;
}

export interface LinkListener {
  heard(message: Message): void;
  /** It will not survive what happened; `exited` follows. */
  failed(cause: Error): void;
  exited(how: string): void;
}

export interface PeerOptions<Near extends Side = Silent> {
  readonly clock: Clock;
  /** The options of a child process. A thread gets them when it starts. */
  readonly open?: unknown;
  /** The error for callers when the peer ends without having been asked to. */
  lost(cause: Error): OperatingError;
  /** Handles the peer's own requests and notes. */
  readonly handlers?: Handlers<Near>;
  readonly errors?: ErrorRules;
  /**
   * Whether a peer that reports itself broken is killed (the default) or left until it is stopped.
   */
  readonly whenBroken?: "kill" | "leave";
  /**
   * Whether the peer keeps this process from ending always (the default), or only during requests.
   */
  readonly keepsAlive?: "always" | "asked";
}

export interface StopOptions {
  /** How long it may take to end by itself. */
  readonly graceMs?: number;
  /** The error of later requests. */
  readonly reason?: OperatingError;
  /** Whether pending requests fail at once (the default) or are waited for. */
  readonly pending?: "fail" | "finish";
}

const graceMsDefault = 2_000;
/** A thread in native code ends only after it, so it is not waited for any longer. */
const killMsMax = 2_000;

export class Peer<Far extends Side, Near extends Side = Silent> implements Asked<Far> {
  /** Resolves when the peer takes requests. Rejects when it ends before that. */
  readonly ready: Promise<void>;
  /** Resolves when the peer is lost; never when it was stopped, or killed with a reason. */
  readonly failure: Promise<OperatingError>;
  /** Resolves when the peer is gone, however it ended. */
  readonly exited: Promise<void>;
  readonly #link: Link;
  readonly #options: PeerOptions<Near>;
  readonly #conversation: Conversation<Far, Near>;
  #isEnding: boolean = false;
  #isGone: boolean = false;
  /** Why the peer reported itself broken. */
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
    this.ready.catch(() => undefined); // `failure` reports the same.
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

  /** The reason why requests fail from now on; undefined while they are possible. */
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

  /** TK5. Resolves when the peer is gone, by itself or killed. */
  async stop(options: StopOptions = {}): Promise<"ended" | "killed"> {
    const { graceMs = graceMsDefault, reason = closed(), pending = "fail" } = options;
    this.#isEnding = true;
    if (pending === "fail") this.#conversation.end(reason);
    if (!this.#isGone) this.#link.send({ kind: "stop" }, []);
    const hasEnded = await this.#exitsWithin(graceMs);
    this.#conversation.end(reason);
    if (hasEnded) return "ended";
    await this.kill(reason);
    return "killed";
  }

  /**
   * Ends the peer now. With a reason, pending requests fail with it at once; without one, they fail
   * as lost when the peer is gone. Resolves when it is gone, or after 2 s, because a thread in
   * native code ends only after it.
   */
  async kill(reason?: OperatingError): Promise<void> {
    if (reason !== undefined) {
      this.#isEnding = true;
      this.#conversation.end(reason);
    }
    if (this.#isGone) return;
    this.#link.kill();
    if (!(await this.#exitsWithin(killMsMax))) this.#link.keepAlive(false);
  }

  #exitsWithin(msMax: number): Promise<boolean> {
    const exited = this.exited.then(() => true);
    return waitAtMost(this.#options.clock, msMax, exited, false);
  }

  #keepAlive(): void {
    if (this.#options.keepsAlive === "asked") this.#link.keepAlive(this.pendingCount > 0);
  }
}

function closed(): OperatingError {
  return new OperatingError("shutting_down", "backoff", "the thread is closed");
}
