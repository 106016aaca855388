/**
 * Errors as data between threads or processes. The class is lost; code, retry, message and details
 * stay.
 */
import { parseErrorCode } from "../../kernel/error-codes.ts";
import {
  AssertionError,
  detailsOf,
  type ErrorDetails,
  messageOf,
  OperatingError,
  type Retry,
} from "../../kernel/errors.ts";

/** Plain data that can be cloned. */
export type ErrorData =
  | ({
      readonly type: "operating";
      readonly code: string;
      readonly retry: Retry;
      readonly message: string;
    } & ErrorDetails)
  /** An error class of the conversation's own. */
  | { readonly type: "own"; readonly data: unknown }
  /** Our own bug. */
  | { readonly type: "assertion"; readonly message: string };

/** What the ends of a conversation know of errors other than `OperatingError`. */
export interface ErrorRules {
  /** Translates an error that is not an `OperatingError`. Undefined: it is our own bug. */
  readonly translate?: (thrown: unknown) => OperatingError | undefined;
  /** A class with more fields than an `OperatingError`. Tried first, at both ends. */
  readonly own?: {
    /** Undefined when the error is not of that class. */
    encode(thrown: unknown): unknown;
    decode(data: unknown): Error;
  };
}

/** A statement can throw a text of any size, which would fill the asker's memory. */
const messageLengthMax = 64 * 1024;

export function encodeError(thrown: unknown, { translate, own }: ErrorRules = {}): ErrorData {
  const data = own?.encode(thrown);
  if (data !== undefined) return { type: "own", data };
  const error = thrown instanceof OperatingError ? thrown : translate?.(thrown);
  if (error === undefined) return { type: "assertion", message: shortened(messageOf(thrown)) };
  const { code, retry } = error;
  const message = shortened(error.message);
  return { type: "operating", code, retry, message, ...detailsOf(error) };
}

/**
 * The error as the other end threw it, without its cause. A code that nothing here declares becomes
 * `query_failed`, and is named in the message.
 */
export function decodeError(data: ErrorData, { own }: ErrorRules = {}): Error {
  if (data.type === "assertion") return new AssertionError(data.message);
  if (data.type === "own") return own?.decode(data.data) ?? new AssertionError("an unknown error");
  const { retry, message } = data;
  const code = parseErrorCode(data.code);
  const details = detailsOf(data);
  if (code !== undefined) return new OperatingError(code, retry, message, details);
  return new OperatingError("query_failed", retry, `${message} (${data.code})`, details);
}

function shortened(message: string): string {
  if (message.length <= messageLengthMax) return message;
  const half = messageLengthMax / 2;
  return `${message.slice(0, half)} … ${message.slice(-half)}`;
}
