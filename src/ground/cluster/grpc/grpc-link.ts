/**
 * One end of a control session's gRPC stream, the same class for both sides; the dialer or the
 * server pumps the stream. LN1 to LN4 hold here.
 */
import { AssertionError, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Link, LinkHandlers } from "../core/index.ts";
import { SendBuffer, type SendBufferLimits } from "./send-buffer.ts";

export const frameBytesMaxDefault: number = 4 * 1024 * 1024;
/** A peer that lets this much accumulate does not read, and loses its session. */
export const sendBufferLimits: SendBufferLimits = { framesMax: 4_096, bytesMax: 16 * 1024 * 1024 };

export interface GrpcLinkOptions<In, Out, WireIn, WireOut> {
  readonly encode: (frame: Out) => WireOut;
  /** Throws `protocol_violation`. */
  readonly decode: (message: WireIn) => In;
  /**
   * Called once, when the link has ended on this side. The stream may still send what is in
   * `outgoing`, for a short time.
   */
  readonly onEnded: () => void;
}

export class GrpcLink<In, Out, WireIn, WireOut> implements Link<Out> {
  /** The frames that the stream sends. Ends with the link. */
  readonly outgoing = new SendBuffer<WireOut>(sendBufferLimits);
  readonly #options: GrpcLinkOptions<In, Out, WireIn, WireOut>;
  #handlers: LinkHandlers<In> | undefined;
  #closeReason: string | undefined;

  constructor(options: GrpcLinkOptions<In, Out, WireIn, WireOut>) {
    this.#options = options;
  }

  /** Call it before anything else. */
  attach(handlers: LinkHandlers<In>): void {
    this.#handlers = handlers;
  }

  /** Why the link ended; undefined while it is open. */
  get closeReason(): string | undefined {
    return this.#closeReason;
  }

  send(frame: Out): boolean {
    if (this.#closeReason !== undefined) return false;
    const message = this.#options.encode(frame);
    if (this.outgoing.push(message, weigh(frame))) return true;
    this.close("the send buffer is full: the other side does not read");
    return false;
  }

  close(reason: string): void {
    if (this.#end(reason)) queueMicrotask(() => this.#handlers?.onClose(reason)); // LN3
  }

  /** Handles an incoming message. Never called from `send` or `close`. */
  receive(message: WireIn): void {
    if (this.#closeReason !== undefined) return; // LN2
    let frame: In;
    try {
      frame = this.#options.decode(message);
    } catch (error) {
      if (!(error instanceof OperatingError)) throw error;
      this.lose(`protocol violation: ${error.message}`);
      return;
    }
    this.#call(() => this.#handlers?.onFrame(frame));
  }

  /** Called when the stream is over, never from `send` or `close`. */
  lose(reason: string): void {
    if (this.#end(reason)) this.#call(() => this.#handlers?.onClose(reason));
  }

  #call(handler: () => void): void {
    try {
      handler();
    } catch (error) {
      escalate(error);
    }
  }

  /** Returns false when the link had ended before. */
  #end(reason: string): boolean {
    if (this.#closeReason !== undefined) return false;
    this.#closeReason = reason;
    this.outgoing.end();
    this.#options.onEnded();
    return true;
  }
}

/** Rethrows a bug outside a stream's promises, where it would look like a lost connection. */
export function escalate(bug: unknown): void {
  queueMicrotask(() => {
    throw bug instanceof Error ? bug : new AssertionError(messageOf(bug));
  });
}

/** The approximate size of a frame on the wire: its texts, and a little for everything else. */
function weigh(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 8;
  if (value instanceof Uint8Array) return value.length;
  let bytes = 2;
  for (const [key, item] of Object.entries(value)) {
    bytes += weigh(item) + (Array.isArray(value) ? 0 : key.length);
  }
  return bytes;
}
