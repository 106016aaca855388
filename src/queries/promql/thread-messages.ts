/** What a process and its PromQL threads say to each other. Each request has one answer with its id. */
import { type ErrorCode, messageOf, OperatingError, type Retry } from "../../kernel/errors.ts";
import { type Position, PromqlError } from "../../promql/core/index.ts";
import { withoutPaths } from "../core/index.ts";

export type ToThread<Request, Post> =
  | {
      readonly kind: "request";
      readonly id: number;
      readonly request: Request;
      /** One word, not 0 when the answer is no longer wanted: seen also by a thread that is computing. */
      readonly stop: SharedArrayBuffer;
    }
  | { readonly kind: "abort"; readonly id: number }
  /** Has no answer. */
  | { readonly kind: "post"; readonly post: Post }
  | { readonly kind: "close" };

export type FromThread<Answer, Note> =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly kind: "error"; readonly id: number; readonly error: ThreadError }
  /** Not an answer: something that became known on the way. */
  | { readonly kind: "note"; readonly note: Note };

/** An error's class does not survive the way between threads. */
export type ThreadError =
  | {
      readonly type: "operating";
      readonly code: ErrorCode;
      readonly retry: Retry;
      readonly message: string;
      readonly hint: string | undefined;
    }
  | {
      readonly type: "promql";
      readonly stage: PromqlError["stage"];
      readonly message: string;
      readonly position: Position | undefined;
    };

export function dataOfError(thrown: unknown): ThreadError {
  if (thrown instanceof OperatingError) {
    const { code, retry, message, hint } = thrown;
    return { type: "operating", code, retry, message, hint };
  }
  if (thrown instanceof PromqlError) {
    const { stage, message, position } = thrown;
    return { type: "promql", stage, message, position };
  }
  const message = withoutPaths(messageOf(thrown));
  return { type: "operating", code: "query_failed", retry: "never", message, hint: undefined };
}

export function errorOfData(error: ThreadError): OperatingError | PromqlError {
  if (error.type === "promql") return new PromqlError(error.stage, error.message, error.position);
  const { code, retry, message, hint } = error;
  return new OperatingError(code, retry, message, hint === undefined ? {} : { hint });
}
