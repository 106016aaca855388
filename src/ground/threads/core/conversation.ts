/**
 * One end of a conversation: sends requests and answers those of the other end (TK1, TK2, TK4). It
 * knows no thread or process; its owner carries the messages.
 */
import { assert, OperatingError } from "../../kernel/errors.ts";
import { decodeError, type ErrorRules, encodeError } from "./error-codec.ts";
import {
  type AnswerOf,
  type ArgumentOf,
  type Asked,
  type AskOptions,
  type Call,
  type Handlers,
  type Message,
  type NoteOf,
  type ProgressOf,
  type RequestOf,
  type Side,
  type Transfer,
  WithTransfer,
} from "./talk.ts";

export interface Wire {
  /** Throws when the message cannot be sent. */
  send(message: Message, transfer: Transfer): void;
  /** Whether both ends see a `SharedArrayBuffer`. */
  readonly sharesMemory: boolean;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
  onProgress: ((progress: never) => void) | undefined;
}

type AnyHandler = (argument: unknown, call: Call) => unknown;

/** The messages of a conversation, without those about the state of its ends. */
export type Said = Exclude<Message, { kind: "open" | "ready" | "stop" | "broken" }>;

export class Conversation<Far extends Side, Near extends Side> implements Asked<Far> {
  readonly #wire: Wire;
  readonly #errors: ErrorRules;
  readonly #waiting = new Map<number, Waiting>();
  readonly #serving = new Map<number, ServedCall>();
  /** What arrived before `serve`. */
  readonly #early: Extract<Said, { kind: "request" | "note" }>[] = [];
  #handlers: Handlers<Near> | undefined;
  #idNext = 1;
  #over: OperatingError | undefined;
  #onIdle: (() => void) | undefined;

  constructor(wire: Wire, errors: ErrorRules = {}) {
    this.#wire = wire;
    this.#errors = errors;
  }

  /** The reason why requests fail from now on; undefined while they are possible. */
  get over(): OperatingError | undefined {
    return this.#over;
  }

  /** Requests of this end that are under way. */
  get pendingCount(): number {
    return this.#waiting.size;
  }

  ask<N extends RequestOf<Far>>(
    name: N,
    argument: ArgumentOf<Far, N>,
    options: AskOptions<ProgressOf<Far, N>> = {},
  ): Promise<AnswerOf<Far, N>> {
    const { signal, whenAborted, transfer = [], onProgress } = options;
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (signal?.aborted === true) return Promise.reject(cancelled());
    const id = this.#idNext;
    this.#idNext += 1;
    const stop =
      signal !== undefined && this.#wire.sharesMemory ? new SharedArrayBuffer(4) : undefined;
    return new Promise<unknown>((resolve, reject) => {
      this.#wire.send({ kind: "request", id, name, argument, stop }, transfer);
      const onAbort = (): void => {
        if (stop !== undefined) Atomics.store(new Int32Array(stop), 0, 1);
        this.#wire.send({ kind: "abort", id }, []);
        if (whenAborted !== "leave") return;
        this.#waiting.delete(id);
        reject(cancelled());
      };
      const forget = (): void => signal?.removeEventListener("abort", onAbort);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.set(id, {
        onProgress,
        resolve: (answer) => {
          forget();
          resolve(answer);
        },
        reject: (error) => {
          forget();
          reject(error);
        },
      });
    }) as Promise<AnswerOf<Far, N>>;
  }

  tell<N extends NoteOf<Far>>(name: N, argument: Far["notes"][N], transfer: Transfer = []): void {
    if (this.#over === undefined) this.#wire.send({ kind: "note", name, argument }, transfer);
  }

  /** Handles requests and notes of the other end from now on, the earlier ones first. */
  serve(handlers: Handlers<Near>): void {
    this.#handlers = handlers;
    for (const message of this.#early.splice(0)) this.receive(message);
  }

  receive(message: Said): void {
    switch (message.kind) {
      case "request":
      case "note":
        if (this.#handlers === undefined) this.#early.push(message);
        else if (message.kind === "request") this.#answer(message, this.#handlers);
        else this.#hear(message, this.#handlers);
        break;
      case "abort":
        this.#serving.get(message.id)?.abort();
        break;
      case "progress":
        this.#waiting.get(message.id)?.onProgress?.(message.progress as never);
        break;
      case "answer":
        this.#settled(message.id)?.resolve(message.answer);
        break;
      case "error":
        this.#settled(message.id)?.reject(decodeError(message.error, this.#errors));
        break;
    }
  }

  /** TK4. Every later request fails with the first reason. */
  end(reason: OperatingError): void {
    this.#over ??= reason;
    const waiting = [...this.#waiting.values()].reverse();
    this.#waiting.clear();
    for (const { reject } of waiting) reject(reason);
  }

  /** Aborts the requests that this end is answering. */
  abortAll(): void {
    for (const call of this.#serving.values()) call.abort();
  }

  /** Calls `act` once this end answers nothing: now, or later. */
  whenIdle(act: () => void): void {
    this.#onIdle = act;
    this.#checkIdle();
  }

  /** Undefined when the asker has left, or was already told that the other end is gone. */
  #settled(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #answer(
    { id, name, argument, stop }: Extract<Said, { kind: "request" }>,
    handlers: Handlers<Near>,
  ): void {
    const handler = (handlers.requests as Record<string, AnyHandler>)[name];
    assert(handler !== undefined, "this end takes such requests");
    const send = (message: Said, transfer: Transfer = []): void =>
      this.#wire.send(message, transfer);
    const call = new ServedCall(stop, (progress) => send({ kind: "progress", id, progress }));
    this.#serving.set(id, call);
    const done = (): void => {
      this.#serving.delete(id);
      this.#checkIdle();
    };
    void new Promise<unknown>((resolve) => resolve(handler.call(handlers.requests, argument, call)))
      .then((answer) => {
        if (answer instanceof WithTransfer) {
          send({ kind: "answer", id, answer: answer.answer }, answer.transfer);
        } else send({ kind: "answer", id, answer });
      })
      .catch((thrown: unknown) => {
        send({ kind: "error", id, error: encodeError(thrown, this.#errors) });
      })
      .then(done);
  }

  #hear({ name, argument }: Extract<Said, { kind: "note" }>, handlers: Handlers<Near>): void {
    const handler = (handlers.notes as Record<string, (argument: unknown) => void>)[name];
    assert(handler !== undefined, "this end takes such notes");
    handler.call(handlers.notes, argument);
  }

  #checkIdle(): void {
    if (this.#serving.size === 0) this.#onIdle?.();
  }
}

class ServedCall implements Call {
  readonly progress: (progress: unknown) => void;
  readonly #word: Int32Array | undefined;
  #isAborted: boolean = false;
  /** Created on first use: most requests end earlier. */
  #abort: AbortController | undefined;

  constructor(stop: SharedArrayBuffer | undefined, progress: (progress: unknown) => void) {
    this.#word = stop === undefined ? undefined : new Int32Array(stop);
    this.progress = progress;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#isAborted) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  isStopped(): boolean {
    return this.#isAborted || (this.#word !== undefined && Atomics.load(this.#word, 0) !== 0);
  }

  check(): void {
    if (this.isStopped()) throw cancelled();
  }

  abort(): void {
    this.#isAborted = true;
    this.#abort?.abort();
  }
}

export function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "the request was cancelled");
}
