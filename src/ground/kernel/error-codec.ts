/**
 * An error on its way between two threads or processes: its class does not survive the way, what
 * code branches on does. Every protocol of ours sends errors as `ErrorData`.
 */
import { AssertionError, type ErrorCode, messageOf, OperatingError, type Retry } from "./errors.ts";

/** Plain data: it can be cloned, and it is JSON. */
export type ErrorData =
  | {
      readonly type: "operating";
      readonly code: ErrorCode;
      readonly retry: Retry;
      readonly message: string;
      /** Absent where there is none. */
      readonly hint?: string;
    }
  /** Our own bug. */
  | { readonly type: "assertion"; readonly message: string };

/**
 * `translate` is asked for what is no `OperatingError`: the shell that met a foreign error knows
 * what it means. Where it does not know either, or is not given, the error counts as our own bug.
 */
export function encodeError(
  thrown: unknown,
  translate: (thrown: unknown) => OperatingError | undefined = () => undefined,
): ErrorData {
  const error = thrown instanceof OperatingError ? thrown : translate(thrown);
  if (error === undefined) return { type: "assertion", message: messageOf(thrown) };
  const { code, retry, message, hint } = error;
  return { type: "operating", code, retry, message, ...(hint === undefined ? {} : { hint }) };
}

/** The error as it was thrown at the other end, without its cause. */
export function decodeError(data: ErrorData): OperatingError | AssertionError {
  if (data.type === "assertion") return new AssertionError(data.message);
  const { code, retry, message, hint } = data;
  return new OperatingError(code, retry, message, hint === undefined ? {} : { hint });
}
