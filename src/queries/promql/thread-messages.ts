/** What a process and its PromQL threads say to each other. Each request has one answer with its id. */
import { decodeError, type ErrorData, encodeError } from "../../kernel/error-codec.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
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

/** `ErrorData`, and what only PromQL's errors have. */
export type ThreadError =
  | ErrorData
  | {
      readonly type: "promql";
      readonly stage: PromqlError["stage"];
      readonly message: string;
      readonly position: Position | undefined;
    };

export function dataOfError(thrown: unknown): ThreadError {
  if (thrown instanceof PromqlError) {
    const { stage, message, position } = thrown;
    return { type: "promql", stage, message, position };
  }
  // Whatever breaks a query's computation breaks this query, and no more.
  return encodeError(
    thrown,
    (foreign) => new OperatingError("query_failed", "never", withoutPaths(messageOf(foreign))),
  );
}

export function errorOfData(error: ThreadError): Error {
  if (error.type === "promql") return new PromqlError(error.stage, error.message, error.position);
  return decodeError(error);
}
