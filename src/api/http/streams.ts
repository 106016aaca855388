/**
 * The open event streams of this process: bounded in number, and ended together when it stops.
 */
import type { FastifyReply } from "fastify";
import type { Clock } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import { defaultSseTiming, SseChannel, type SseTiming } from "./sse-channel.ts";

export class Streams {
  readonly #channels = new Set<SseChannel>();
  readonly #others = new Set<AbortController>();
  readonly #clock: Clock;
  readonly #max: number;
  readonly #timing: SseTiming;

  constructor(clock: Clock, max: number, timing: SseTiming = defaultSseTiming) {
    this.#clock = clock;
    this.#max = max;
    this.#timing = timing;
  }

  get size(): number {
    return this.#channels.size + this.#others.size;
  }

  /** Throws `overloaded` when there are too many already. */
  checkRoom(): void {
    if (this.size < this.#max) return;
    throw new OperatingError("overloaded", "backoff", `${this.#max} event streams are open`, {
      hint: "Close some, or ask another replica.",
    });
  }

  /** Takes the reply out of Fastify's hands. Throws `overloaded` before that when there are too many. */
  open(reply: FastifyReply): SseChannel {
    this.checkRoom();
    reply.hijack();
    reply.raw.writeHead(200, {
      ...headersOf(reply),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    const channel = new SseChannel(reply.raw, this.#clock, this.#timing);
    this.#channels.add(channel);
    channel.signal.addEventListener("abort", () => this.#channels.delete(channel), { once: true });
    return channel;
  }

  /** A stream of another kind, that counts like one of ours: over when its signal aborts. */
  track(): AbortController {
    this.checkRoom();
    const over = new AbortController();
    this.#others.add(over);
    over.signal.addEventListener("abort", () => this.#others.delete(over), { once: true });
    return over;
  }

  endAll(): void {
    for (const channel of this.#channels) channel.end();
    for (const over of this.#others) over.abort();
  }
}

/** What hooks have already put on the reply: security headers and the request's id. */
function headersOf(reply: FastifyReply): Record<string, string | number | string[]> {
  const headers: Record<string, string | number | string[]> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}
