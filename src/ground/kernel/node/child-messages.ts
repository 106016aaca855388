/** What a process and one that it started for some purpose say to each other. Each request has one answer with its id. */
import type { ErrorData } from "../error-codec.ts";

export type ToChild<Open, Request> =
  | { readonly kind: "open"; readonly options: Open }
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "close" };

export type FromChild<Answer> =
  | { readonly kind: "ready" }
  /** The request is being worked on: from here on it can do harm. */
  | { readonly kind: "began"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData }
  /** It is broken, or never came to be; nothing will be answered any more. */
  | { readonly kind: "fatal"; readonly message: string };
