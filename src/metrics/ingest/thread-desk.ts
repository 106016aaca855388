/**
 * One end of a conversation between two threads: asks the other end, and answers what it asks.
 *
 *   TD1  Each request gets one answer or one error.
 *   TD2  After `end` nothing waits: what was asked, and whatever is asked from then on, fails with the reason.
 */
import { type ErrorCode, messageOf, OperatingError, type Retry } from "../../kernel/errors.ts";

export interface ErrorData {
  readonly code: ErrorCode;
  readonly retry: Retry;
  readonly message: string;
}

export type DeskMessage<Request, Answer> =
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData };

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: OperatingError): void;
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
    else waiting?.reject(errorOfData(message.error));
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
      this.#options.post({ kind: "error", id, error: dataOfError(thrown) }, []);
    }
  }
}

export function dataOfError(thrown: unknown): ErrorData {
  if (thrown instanceof OperatingError) {
    return { code: thrown.code, retry: thrown.retry, message: thrown.message };
  }
  const isFull = thrown instanceof Error && "code" in thrown && thrown.code === "ENOSPC";
  const code = isFull ? "disk_full" : "store_unavailable";
  return { code, retry: "backoff", message: messageOf(thrown) };
}

export function errorOfData({ code, retry, message }: ErrorData): OperatingError {
  return new OperatingError(code, retry, message);
}
