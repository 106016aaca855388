/**
 * The messages between the two ends of a conversation. The ends are two threads, or a process and
 * its child; both use the same messages. Each end has a `Side`: what it accepts from the other.
 */
import type { ErrorData } from "./error-codec.ts";

/**
 * What one end takes. A request is a function's type: its argument, what is told on the way to its
 * answer (absent: nothing), and its answer. A note has an argument and no answer.
 *
 *     interface Evaluator {
 *       readonly requests: { run(query: RunRequest, progress: string): RanQuery };
 *       readonly notes: { forget: number };
 *     }
 */
export interface Side {
  readonly requests: object;
  readonly notes: object;
}

/** A side that accepts nothing: it only asks. */
export interface Silent {
  readonly requests: Record<never, never>;
  readonly notes: Record<never, never>;
}

export type RequestOf<S extends Side> = keyof S["requests"] & string;
export type NoteOf<S extends Side> = keyof S["notes"] & string;

type ParametersOf<F> = F extends (...parameters: infer P) => unknown ? P : never;
type ResultOf<F> = F extends (...parameters: never[]) => infer R ? R : never;

export type ArgumentOf<S extends Side, N extends RequestOf<S>> = ParametersOf<S["requests"][N]>[0];
export type ProgressOf<S extends Side, N extends RequestOf<S>> = ParametersOf<S["requests"][N]>[1];
export type AnswerOf<S extends Side, N extends RequestOf<S>> = ResultOf<S["requests"][N]>;

/** Buffers that are moved instead of copied: the sender loses them. */
export type Transfer = readonly ArrayBuffer[];

export type Message =
  /** To a child process, which has no other way to get its options. */
  | { readonly kind: "open"; readonly options: unknown }
  /** The started thread or process accepts requests from now on. */
  | { readonly kind: "ready" }
  | {
      readonly kind: "request";
      readonly id: number;
      readonly name: string;
      readonly argument: unknown;
      /** Not 0 when the answer is no longer wanted, so that a computing thread sees it. */
      readonly stop: SharedArrayBuffer | undefined;
    }
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "progress"; readonly id: number; readonly progress: unknown }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData }
  | { readonly kind: "note"; readonly name: string; readonly argument: unknown }
  /** To the started thread or process: end when nothing is under way. */
  | { readonly kind: "stop" }
  /** From the started thread or process: it could not open, or no longer works. */
  | { readonly kind: "broken"; readonly error: ErrorData };

export interface AskOptions<Progress> {
  readonly signal?: AbortSignal | undefined;
  /** When an aborted request rejects: at once, or when the other end has stopped (the default). */
  readonly whenAborted?: "leave" | "wait";
  readonly transfer?: Transfer;
  readonly onProgress?: (progress: Progress) => void;
}

/** The other end, for requests. */
export interface Asked<Far extends Side> {
  /** Rejects with what the other end threw, and with `cancelled` when `signal` aborts. */
  ask<N extends RequestOf<Far>>(
    name: N,
    argument: ArgumentOf<Far, N>,
    options?: AskOptions<ProgressOf<Far, N>>,
  ): Promise<AnswerOf<Far, N>>;
  tell<N extends NoteOf<Far>>(name: N, argument: Far["notes"][N], transfer?: Transfer): void;
}

/** A request under way, as seen by the end that answers it. */
export interface Call<Progress = unknown> {
  /** For handlers that wait. */
  readonly signal: AbortSignal;
  /** For handlers that compute: whether the answer is no longer wanted. */
  isStopped(): boolean;
  /** Throws `cancelled` when the answer is no longer wanted. */
  check(): void;
  progress(progress: Progress): void;
}

/** An answer with buffers that are moved. */
export class WithTransfer<Answer> {
  readonly answer: Answer;
  readonly transfer: Transfer;

  constructor(answer: Answer, transfer: Transfer) {
    this.answer = answer;
    this.transfer = transfer;
  }
}

type Answered<Answer> = Answer | WithTransfer<Answer>;

/** The implementation of a side. A handler that throws answers with an error. */
export interface Handlers<Near extends Side> {
  readonly requests: {
    readonly [N in RequestOf<Near>]: (
      argument: ArgumentOf<Near, N>,
      call: Call<ProgressOf<Near, N>>,
    ) => Answered<AnswerOf<Near, N>> | Promise<Answered<AnswerOf<Near, N>>>;
  };
  readonly notes: { readonly [N in NoteOf<Near>]: (argument: Near["notes"][N]) => void };
}
