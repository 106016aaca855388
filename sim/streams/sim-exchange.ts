/**
 * The exchange between workers: one stream of frames for each edge, in order, held while its way is
 * blocked, and broken when an end is gone or the other side is not heard of for too long. What
 * arrives is put into the edges of the life that took the stream.
 */
import type { Prng } from "../../src/ground/kernel/prng.ts";
import { frameKindOf } from "../../src/kinds/stream/engine/core/index.ts";
import { DialectError } from "../../src/kinds/stream/language/core/index.ts";
import type { OutEdge } from "../../src/kinds/stream/run/core/edge.ts";
import {
  type ArrivingEdge,
  type EdgeHub,
  type EdgeName,
  edgePath,
} from "../../src/kinds/stream/run/exchange/edge-hub.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { NetworkConditions } from "../world/network-conditions.ts";

type Arrival =
  | { readonly kind: "open" }
  | { readonly kind: "frame"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The sender needs the stream no more, or is gone. */
  | { readonly kind: "end" };

interface Stream {
  readonly path: string;
  readonly sender: Life;
  readonly toHost: string;
  receiver: Arrived | undefined;
  lastArrivalMs: number;
  held: Arrival[];
  /** Nothing of it arrives any more. */
  isCut: boolean;
  /** Whether the last frame said that no other follows. */
  hasEnded: boolean;
  /** Told once, unless the sender has closed it. */
  fail: ((why: string) => void) | undefined;
}

interface Receiver {
  readonly life: Life;
  readonly hub: EdgeHub;
}

/** Where a stream leads to. */
interface Arrived {
  readonly life: Life;
  /** Undefined until the process has heard of the stream. */
  edge: ArrivingEdge | undefined;
}

export interface SimExchangeOptions {
  readonly timeline: Timeline;
  readonly conditions: NetworkConditions;
  readonly prng: Prng;
}

export class SimExchange {
  readonly #options: SimExchangeOptions;
  readonly #receivers = new Map<string, Receiver>();
  readonly #dark = new Set<string>();
  readonly #streams = new Set<Stream>();

  constructor(options: SimExchangeOptions) {
    this.#options = options;
  }

  /** The edges of this life are those of its host. */
  attach(life: Life, hub: EdgeHub): void {
    this.#receivers.set(life.name, { life, hub });
    this.#dark.delete(life.name);
  }

  /** With `dark` the host failed, too: its peers are told nothing. */
  lifeEnded(life: Life, dark: boolean): void {
    if (dark) this.#dark.add(life.name);
    for (const stream of this.#streams) {
      if (stream.sender === life) {
        this.#streams.delete(stream);
        if (dark) stream.isCut = true;
        else this.#transmit(stream, { kind: "end" });
      } else if (stream.receiver?.life === life && !dark) this.#reset(stream);
    }
  }

  /** A block between the two ended: what was held arrives a moment later. */
  release(fromHost: string, toHost: string): void {
    const { timeline, conditions } = this.#options;
    const way = conditions.direction(fromHost, toHost);
    for (const stream of this.#streams) {
      const { sender, held } = stream;
      if (sender.name !== fromHost || stream.toHost !== toHost || held.length === 0) continue;
      timeline.after(conditions.latencyMs(way), () => {
        if (way.blocks === 0) this.#deliverHeld(stream);
      });
    }
  }

  /** Until now whatever arrived was held behind what was held before. */
  #deliverHeld(stream: Stream): void {
    const { held } = stream;
    stream.held = [];
    for (const arrival of held) if (!stream.isCut) this.#arrive(stream, arrival);
  }

  /** An edge from a fragment of `sender` to one at the address of another worker. */
  send(sender: Life, address: string, name: EdgeName): OutEdge {
    let failure: DialectError | undefined;
    let isClosed = false;
    const stream: Stream = {
      path: edgePath(name),
      sender,
      toHost: new URL(address).hostname,
      receiver: undefined,
      lastArrivalMs: 0,
      held: [],
      isCut: false,
      hasEnded: false,
      fail: (why) => {
        if (!isClosed)
          failure ??= new DialectError(4001, `the exchange with ${address} was lost: ${why}`);
      },
    };
    this.#streams.add(stream);
    this.#transmit(stream, { kind: "open" });
    return {
      send: (bytes) => {
        if (failure !== undefined) throw failure;
        this.#transmit(stream, { kind: "frame", bytes: bytes.slice() });
        return undefined;
      },
      flush: async () => {
        if (failure !== undefined) throw failure;
      },
      heldBytes: 0,
      backlogBytes: 0,
      close: () => {
        if (isClosed) return;
        isClosed = true;
        this.#transmit(stream, { kind: "end" });
      },
    };
  }

  #transmit(stream: Stream, arrival: Arrival): void {
    const { timeline, conditions } = this.#options;
    const way = conditions.direction(stream.sender.name, stream.toHost);
    const atMs = Math.max(timeline.nowMs + conditions.latencyMs(way), stream.lastArrivalMs + 0.001);
    stream.lastArrivalMs = atMs;
    timeline.at(atMs, () => {
      if (stream.isCut) return;
      if (way.blocks > 0 || stream.held.length > 0) this.#hold(stream, arrival);
      else this.#arrive(stream, arrival);
    });
  }

  #hold(stream: Stream, arrival: Arrival): void {
    const { timeline, prng } = this.#options;
    stream.held.push(arrival);
    if (stream.held.length > 1) return;
    timeline.after(8_000 + prng.next() * 15_000, () => {
      if (stream.held[0] === arrival) this.#break(stream, "no acknowledgement");
    });
  }

  #arrive(stream: Stream, arrival: Arrival): void {
    const { toHost } = stream;
    if (arrival.kind === "open") {
      const found = this.#receivers.get(toHost);
      if (found === undefined || found.life.isDown) this.#refuse(stream);
      else this.#open(stream, found);
      return;
    }
    const { receiver } = stream;
    if (receiver === undefined || receiver.life.isDown) {
      this.#refuse(stream);
      return;
    }
    receiver.life.receive(() => this.#take(stream, receiver, arrival));
  }

  #open(stream: Stream, { life, hub }: Receiver): void {
    const receiver: Arrived = { life, edge: undefined };
    stream.receiver = receiver;
    life.receive(() => {
      receiver.edge = hub.arrive(stream.path);
    });
  }

  #take(stream: Stream, { edge }: Arrived, arrival: Arrival): void {
    if (edge === undefined || (stream.isCut && arrival.kind !== "end")) return;
    if (arrival.kind === "frame") {
      const kind = frameKindOf(arrival.bytes);
      if (kind === "end" || kind === "stop") stream.hasEnded = true;
      void edge.out.send(arrival.bytes);
      return;
    }
    this.#streams.delete(stream);
    stream.isCut = true;
    this.#over(stream, edge);
  }

  /** As the server of the exchange does it. */
  #over({ hasEnded }: Stream, edge: ArrivingEdge): void {
    if (!hasEnded) edge.out.close();
    edge.over();
  }

  /** Nobody is there. A live host says so; a dark one says nothing for a while. */
  #refuse(stream: Stream): void {
    if (!this.#dark.has(stream.toHost)) {
      this.#reset(stream);
      return;
    }
    const { timeline, prng } = this.#options;
    timeline.after(8_000 + prng.next() * 15_000, () => this.#break(stream, "no acknowledgement"));
  }

  #reset(stream: Stream): void {
    const { timeline, conditions } = this.#options;
    const way = conditions.direction(stream.toHost, stream.sender.name);
    timeline.after(conditions.latencyMs(way), () =>
      this.#break(stream, "connection reset by peer"),
    );
  }

  /** Both ends notice, unless they are gone. */
  #break(stream: Stream, why: string): void {
    if (stream.isCut) return;
    stream.isCut = true;
    stream.held = [];
    this.#streams.delete(stream);
    stream.sender.receive(() => stream.fail?.(why));
    const { receiver } = stream;
    if (receiver === undefined || receiver.life.isDown) return;
    receiver.life.receive(() => {
      if (receiver.edge !== undefined) this.#over(stream, receiver.edge);
    });
  }
}
