/**
 * One end of a conversation between two threads: asks the other end, and answers what it asks.
 *
 *   TD1  Each request gets one answer or one error.
 *   TD2  After `end` nothing waits: what was asked, and whatever is asked from then on, fails with the reason.
 */
import { decodeError, type ErrorData, encodeError } from "../../kernel/error-codec.ts";
import { OperatingError } from "../../kernel/errors.ts";

export type DeskMessage<Request, Answer> =
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData };

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export interface DeskOptions<Asked, Answer> {
  post(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** What the other end asks. */
  perform(request: Asked): Promise<Answer>;
}

/** `Asking`: what this end asks. `Asked`: what the other end does. */
export class ThreadDesk<Asking, Asked> {
  readonly #options: DeskOptions<Asked, unknown>;
  readonly #waiting = new Map<number, Waiting>();
  #idNext = 1;
  #over: OperatingError | undefined;

  constructor(options: DeskOptions<Asked, unknown>) {
    this.#options = options;
  }

  /** Why nothing is taken any more. */
  get over(): OperatingError | undefined {
    return this.#over;
  }

  ask<Answer>(request: Asking, transfer: readonly ArrayBuffer[] = []): Promise<Answer> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    const id = this.#idNext;
    this.#idNext += 1;
    return new Promise<Answer>((resolve, reject) => {
      this.#options.post({ kind: "request", id, request }, transfer); // Throws what cannot be sent.
      this.#waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject });
    });
  }

  receive(message: DeskMessage<Asked, unknown>): void {
    if (message.kind === "request") {
      void this.#serve(message.id, message.request);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(decodeError(message.error));
  }

  end(reason: OperatingError): void {
    this.#over ??= reason; // TD2
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(reason);
  }

  async #serve(id: number, request: Asked): Promise<void> {
    try {
      const answer = await this.#options.perform(request);
      this.#options.post({ kind: "answer", id, answer }, []);
    } catch (thrown) {
      this.#options.post({ kind: "error", id, error: encodeFileError(thrown) }, []);
    }
  }
}

/**
 * What the system's calls throw has a code of its own; anything else that is no `OperatingError` is
 * our own bug.
 */
export function encodeFileError(thrown: unknown): ErrorData {
  return encodeError(thrown, (foreign) => {
    if (!(foreign instanceof Error) || !("code" in foreign)) return undefined;
    const isFull = foreign.code === "ENOSPC" || foreign.code === "EDQUOT";
    const code = isFull ? "disk_full" : "store_unavailable";
    return new OperatingError(code, "backoff", foreign.message);
  });
}
