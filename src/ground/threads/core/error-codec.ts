/**
 * An error on its way between two threads or processes: its class does not survive the way, what
 * code branches on does.
 */
import {
  AssertionError,
  type ErrorCode,
  messageOf,
  OperatingError,
  type Retry,
} from "../../kernel/errors.ts";

/** Plain data: it can be cloned. */
export type ErrorData =
  | {
      readonly type: "operating";
      readonly code: ErrorCode;
      readonly retry: Retry;
      readonly message: string;
      /** Absent where there is none. */
      readonly hint?: string;
    }
  /** A class of the conversation's own. */
  | { readonly type: "own"; readonly data: unknown }
  /** Our own bug. */
  | { readonly type: "assertion"; readonly message: string };

/** What the ends of a conversation know of errors besides `OperatingError`. */
export interface ErrorRules {
  /**
   * Asked for what is no `OperatingError`: the shell that met a foreign error knows what it means.
   * `undefined`: it is our own bug.
   */
  readonly translate?: (thrown: unknown) => OperatingError | undefined;
  /** A class that keeps more than an `OperatingError` does. Asked first, at both ends. */
  readonly own?: {
    /** `undefined`: it is none of that class. */
    encode(thrown: unknown): unknown;
    decode(data: unknown): Error;
  };
}

/** A statement can throw a text of any size, and whoever asked would have it in memory. */
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

/** The error as it was thrown at the other end, without its cause. */
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
