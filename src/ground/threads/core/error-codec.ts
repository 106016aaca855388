/** Errors as data between threads or processes. The class is lost; code, retry and hint stay. */
import {
  AssertionError,
  type ErrorCode,
  messageOf,
  OperatingError,
  type Retry,
} from "../../kernel/errors.ts";

/** Plain data that can be cloned. */
export type ErrorData =
  | {
      readonly type: "operating";
      readonly code: ErrorCode;
      readonly retry: Retry;
      readonly message: string;
      readonly hint?: string;
    }
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
  const { code, retry, message, hint } = error;
  const said = { code, retry, message: shortened(message) };
  return { type: "operating", ...said, ...(hint === undefined ? {} : { hint }) };
}

/** The error as the other end threw it, without its cause. */
export function decodeError(data: ErrorData, { own }: ErrorRules = {}): Error {
  if (data.type === "assertion") return new AssertionError(data.message);
  if (data.type === "own") return own?.decode(data.data) ?? new AssertionError("an unknown error");
  const { code, retry, message, hint } = data;
  return new OperatingError(code, retry, message, hint === undefined ? {} : { hint });
}

function shortened(message: string): string {
  if (message.length <= messageLengthMax) return message;
  const half = messageLengthMax / 2;
  return `${message.slice(0, half)} … ${message.slice(-half)}`;
}
