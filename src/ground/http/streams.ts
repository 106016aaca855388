/**
 * The open event streams of this process. Their number is limited, in total and for each client,
 * and all end together when the process stops.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../kernel/clock.ts";
import { OperatingError } from "../kernel/errors.ts";
import { clientOf } from "../kernel/node/connection-gate.ts";
import { type EventSocket, socketSink } from "./socket-sink.ts";
import { defaultSseTiming, SseChannel, type SseTiming } from "./sse-channel.ts";

export interface StreamLimits {
  readonly event_streams: number;
  readonly event_streams_per_client: number;
}

type Asker = Pick<FastifyRequest, "ip">;

export class Streams {
  readonly #channels = new Set<SseChannel>();
  readonly #others = new Set<AbortController>();
  readonly #counts = new Map<string, number>();
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #timing: SseTiming;

  constructor(clock: Clock, limits: StreamLimits, timing: SseTiming = defaultSseTiming) {
    this.#clock = clock;
    this.#limits = limits;
    this.#timing = timing;
  }

  get size(): number {
    return this.#channels.size + this.#others.size;
  }

  /** Throws `overloaded` when there are too many streams, in total or of this client. */
  checkRoom({ ip }: Asker): void {
    const { event_streams: all, event_streams_per_client: own } = this.#limits;
    if (this.size >= all) throw tooMany("event streams are open", "event_streams", all);
    if ((this.#counts.get(clientOf(ip)) ?? 0) < own) return;
    throw tooMany("event streams of your address are open", "event_streams_per_client", own);
  }

  /** Detaches the reply from Fastify. Throws `overloaded` first when there are too many streams. */
  open(reply: FastifyReply): SseChannel {
    this.checkRoom(reply.request);
    reply.hijack();
    reply.raw.writeHead(200, {
      ...headersOf(reply),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    return this.#add(new SseChannel(reply.raw, this.#clock, this.#timing), reply.request);
  }

  /** The same over a WebSocket. Throws `overloaded` when there are too many streams. */
  openSocket(socket: EventSocket, asker: Asker): SseChannel {
    this.checkRoom(asker);
    return this.#add(new SseChannel(socketSink(socket), this.#clock, this.#timing), asker);
  }

  #add(channel: SseChannel, asker: Asker): SseChannel {
    if (channel.signal.aborted) return channel;
    this.#channels.add(channel);
    this.#count(asker, channel.signal, () => this.#channels.delete(channel));
    return channel;
  }

  #count({ ip }: Asker, signal: AbortSignal, over: () => void): void {
    const client = clientOf(ip);
    const add = (change: number): void => {
      const count = (this.#counts.get(client) ?? 0) + change;
      if (count === 0) this.#counts.delete(client);
      else this.#counts.set(client, count);
    };
    add(1);
    const onAbort = (): void => {
      add(-1);
      over();
    };
    signal.addEventListener("abort", onAbort, { once: true });
  }

  /** Counts a stream that is not a channel. It is over when its signal aborts. */
  track(asker: Asker): AbortController {
    this.checkRoom(asker);
    const over = new AbortController();
    this.#others.add(over);
    this.#count(asker, over.signal, () => this.#others.delete(over));
    return over;
  }

  endAll(): void {
    for (const channel of this.#channels) channel.end();
    for (const over of this.#others) over.abort();
  }
}

function tooMany(what: string, limit: string, count: number): OperatingError {
  const message = `${count} ${what}; the limit ${limit} is ${count}`;
  return new OperatingError("overloaded", "backoff", message, {
    hint: `Close some, ask another replica, or start the coordinator with --limit ${limit}=N.`,
  });
}

/** The headers that hooks have already set on the reply: security headers and the request's id. */
function headersOf(reply: FastifyReply): Record<string, string | number | string[]> {
  const headers: Record<string, string | number | string[]> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}
