/**
 * The simulated network: links of frames between lives, and single requests. Rules: SN1 to SN4.
 */
import type {
  AcceptLink,
  ControllerFrame,
  Dialer,
  Envelope,
  Link,
  LinkHandlers,
  WorkerFrame,
} from "../../src/ground/cluster/core/index.ts";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Trace } from "../engine/trace.ts";
import type { Direction, NetworkConditions } from "./network-conditions.ts";

type AnyFrame = ControllerFrame | WorkerFrame;
type AnyEnvelope = Envelope<AnyFrame>;

/** Called with every frame, before it has any effect. */
export interface NetworkProbe {
  frameSent(from: Life, to: string, envelope: AnyEnvelope): void;
  frameDelivered(from: string, to: Life, envelope: AnyEnvelope, isStale: boolean): void;
}

type Arrival =
  | { readonly kind: "open" }
  | { readonly kind: "frame"; readonly envelope: AnyEnvelope; readonly isStale: boolean }
  | { readonly kind: "fin"; readonly reason: string };

/** One end of a link, and the direction that leads to its peer. */
class LinkEnd implements Link<AnyEnvelope> {
  readonly life: Life;
  readonly host: string;
  readonly link: SimLink;
  /** The way to the peer. */
  readonly way: Direction;
  handlers: LinkHandlers<AnyEnvelope> | undefined;
  /** It neither sends nor receives any more. */
  isClosed = false;
  /** `onClose` was called or is about to be. */
  isTold = false;
  lastArrivalMs = 0;
  held: Arrival[] = [];
  /** Frames under way to the peer are lost. */
  isCut = false;

  constructor(life: Life, host: string, link: SimLink, way: Direction) {
    this.life = life;
    this.host = host;
    this.link = link;
    this.way = way;
  }

  send(envelope: AnyEnvelope): boolean {
    return this.link.send(this, envelope);
  }

  close(reason: string): void {
    this.link.closeFrom(this, reason);
  }
}

const sentFramesMax = 2_000;
const historyMax = 24;

class SimLink {
  readonly network: SimNetwork;
  readonly dialled: LinkEnd;
  readonly targetHost: string;
  accepted: LinkEnd | undefined;
  /** The epoch of the hello that opened it; 0 before that. */
  epoch = 0;
  /** The last frames of this link, for replays on a later one. */
  readonly history: { readonly toWorker: boolean; readonly envelope: AnyEnvelope }[] = [];

  /** Undefined for a link that is nobody's session. */
  readonly #probe: NetworkProbe | undefined;

  constructor(
    network: SimNetwork,
    life: Life,
    fromHost: string,
    targetHost: string,
    probe: NetworkProbe | undefined,
  ) {
    this.network = network;
    this.#probe = probe;
    const way = network.conditions.direction(fromHost, targetHost);
    this.dialled = new LinkEnd(life, fromHost, this, way);
    this.targetHost = targetHost;
  }

  get isLive(): boolean {
    return (
      !this.dialled.isClosed &&
      this.accepted !== undefined &&
      !this.accepted.isClosed &&
      !this.dialled.life.isDown &&
      !this.accepted.life.isDown
    );
  }

  send(end: LinkEnd, envelope: AnyEnvelope): boolean {
    if (end.isClosed || end.life.isDown) return false;
    if (end.held.length >= sentFramesMax) {
      this.closeFrom(end, "send buffer full");
      return false;
    }
    if (end === this.dialled && this.epoch === 0) this.epoch = envelope.epoch;
    this.#probe?.frameSent(end.life, this.#hostOfPeer(end), envelope);
    this.remember(end === this.dialled, envelope);
    this.network.transmit(this, end, { kind: "frame", envelope, isStale: false });
    return true;
  }

  closeFrom(end: LinkEnd, reason: string): void {
    if (end.isClosed) return;
    this.network.transmit(this, end, { kind: "fin", reason: `peer closed: ${reason}` });
    end.isClosed = true;
    this.tell(end, reason);
  }

  /** Tells the owner of `end`, once, after what arrived before, and never synchronously. */
  tell(end: LinkEnd, reason: string): void {
    this.network.timeline.after(0, () => this.#tellNow(end, reason));
  }

  #tellNow(end: LinkEnd, reason: string): void {
    end.life.receive(() => {
      end.isClosed = true;
      if (end.isTold) return;
      end.isTold = true;
      end.handlers?.onClose(reason);
    });
  }

  arrive(from: LinkEnd, arrival: Arrival): void {
    if (arrival.kind === "open") {
      this.network.acceptLink(this);
      return;
    }
    const to = from === this.dialled ? this.accepted : this.dialled;
    if (to === undefined || to.life.isDown || (to.isClosed && arrival.kind === "frame")) {
      // Nobody is there. A live host says so, and the sender's side closes; a dark one says
      // nothing.
      if (!this.network.isDark(this.#hostOfPeer(from))) this.network.reset(this, from);
      return;
    }
    if (arrival.kind === "fin") {
      this.#tellNow(to, arrival.reason);
      return;
    }
    const { envelope, isStale } = arrival;
    to.life.receive(() => {
      if (to.isClosed) return;
      this.#probe?.frameDelivered(from.host, to.life, envelope, isStale);
      to.handlers?.onFrame(envelope);
    });
  }

  remember(toWorker: boolean, envelope: AnyEnvelope): void {
    // Heartbeats would push everything interesting out.
    const { kind } = envelope.frame;
    if (kind === "heartbeat" || kind === "heartbeatAnswer") {
      if (this.history.length > 2) return;
    }
    this.history.push({ toWorker, envelope });
    if (this.history.length > historyMax) this.history.shift();
  }

  #hostOfPeer(end: LinkEnd): string {
    return end === this.dialled ? this.targetHost : this.dialled.host;
  }
}

interface Host {
  readonly life: Life;
  readonly accept: AcceptLink | undefined;
  readonly serve: Serve | undefined;
}

/** Answers a request in the serving life. Whatever it throws travels back. */
export type Serve = (request: unknown, from: string) => Promise<unknown>;

export class SimNetwork {
  readonly timeline: Timeline;
  readonly conditions: NetworkConditions;
  readonly #probe: NetworkProbe;
  readonly #prng: Prng;
  readonly #trace: Trace;
  readonly #hosts = new Map<string, Host>();
  readonly #dark = new Set<string>();
  readonly #links = new Set<SimLink>();
  /** The last few links of each pair that are over: what may be replayed. */
  readonly #past = new Map<string, SimLink[]>();

  constructor(
    timeline: Timeline,
    conditions: NetworkConditions,
    prng: Prng,
    trace: Trace,
    probe: NetworkProbe,
  ) {
    this.timeline = timeline;
    this.conditions = conditions;
    this.#prng = prng;
    this.#trace = trace;
    this.#probe = probe;
  }

  /** The host `life.name` is up, and runs this life. */
  attach(life: Life, accept: AcceptLink | undefined, serve: Serve | undefined): void {
    this.#hosts.set(life.name, { life, accept, serve });
    this.#dark.delete(life.name);
  }

  dialer(life: Life): Dialer {
    return this.#dialer(life, this.#probe);
  }

  /** For short questions: what is said there concerns no session. */
  asker(life: Life): Dialer {
    return this.#dialer(life, undefined);
  }

  #dialer(life: Life, probe: NetworkProbe | undefined): Dialer {
    return {
      dial: (address, handlers) => {
        const link = new SimLink(this, life, life.name, address.host, probe);
        link.dialled.handlers = handlers as LinkHandlers<AnyEnvelope>;
        this.#links.add(link);
        this.transmit(link, link.dialled, { kind: "open" });
        return link.dialled;
      },
    };
  }

  /** With `dark` the host failed too, so that its peers are told nothing. */
  lifeEnded(life: Life, dark: boolean): void {
    if (dark) this.#dark.add(life.name);
    for (const link of this.#links) {
      const end =
        link.dialled.life === life
          ? link.dialled
          : link.accepted?.life === life
            ? link.accepted
            : undefined;
      if (end === undefined) continue;
      if (!end.isClosed && !dark) {
        if (this.#prng.next() < 0.3) end.isCut = true; // A reset discards what was under way.
        this.transmit(link, end, { kind: "fin", reason: "connection reset by peer" }, true);
      } else if (dark) end.isCut = true;
      end.isClosed = true;
      end.isTold = true;
    }
  }

  isDark(host: string): boolean {
    return this.#dark.has(host);
  }

  transmit(link: SimLink, from: LinkEnd, arrival: Arrival, evenIfCut = false): void {
    const toHost = from === link.dialled ? link.targetHost : link.dialled.host;
    const latencyMs = this.conditions.latencyMs(from.way);
    // The tiny step keeps frames of one direction in order whatever the tiebreak.
    const atMs = Math.max(this.timeline.nowMs + latencyMs, from.lastArrivalMs + 0.001);
    from.lastArrivalMs = atMs;
    this.timeline.at(atMs, () => {
      if (from.isCut && !evenIfCut) return;
      if (from.held.length > 0 || from.way.blocks > 0) {
        this.#hold(link, from, toHost, arrival);
        return;
      }
      this.#arrive(link, from, toHost, arrival);
    });
  }

  /** A block between the two ended: what was held arrives a moment later. */
  release(fromHost: string, toHost: string): void {
    for (const link of this.#links) {
      for (const end of [link.dialled, link.accepted]) {
        if (end === undefined || end.host !== fromHost || end.held.length === 0) continue;
        const peerHost = end === link.dialled ? link.targetHost : link.dialled.host;
        if (peerHost !== toHost) continue;
        this.timeline.after(this.conditions.latencyMs(end.way), () =>
          this.#deliverHeld(link, end, peerHost),
        );
      }
    }
  }

  /** SN1: until now whatever arrived was held behind what was held before. */
  #deliverHeld(link: SimLink, end: LinkEnd, peerHost: string): void {
    if (end.way.blocks > 0) return; // Blocked again, so it will be released again.
    const { held } = end;
    end.held = [];
    held.forEach((arrival, index) => {
      // Negative tiebreaks: before anything else that arrives in this moment, in its own order.
      const tiebreak = -1 + index / (held.length + 1);
      const arrive = (): void => this.#arrive(link, end, peerHost, arrival);
      this.timeline.at(this.timeline.nowMs, arrive, tiebreak);
    });
  }

  /**
   * Both ends of every link between two hosts close; what was under way is lost. Returns how many.
   */
  breakLinks(hostA: string, hostB: string): number {
    let count = 0;
    for (const link of this.#links) {
      if (!link.isLive || link.accepted === undefined) continue;
      const matches =
        (link.dialled.host === hostA && link.targetHost === hostB) ||
        (link.dialled.host === hostB && link.targetHost === hostA);
      if (!matches) continue;
      count += 1;
      for (const end of [link.dialled, link.accepted]) {
        end.isCut = true;
        end.held = [];
        this.timeline.after(this.#prng.next() * 20, () => link.tell(end, "connection reset"));
      }
    }
    return count;
  }

  /** SN4. Returns the number of old frames that were put into the pair's newest live link. */
  replayStale(controllerHost: string, workerHost: string): number {
    let link: SimLink | undefined;
    for (const candidate of this.#links) {
      if (candidate.dialled.host !== controllerHost || candidate.targetHost !== workerHost)
        continue;
      if (candidate.isLive && candidate.epoch > (link?.epoch ?? 0)) link = candidate;
    }
    const accepted = link?.accepted;
    if (link === undefined || accepted === undefined) return 0;
    const older = [...(this.#past.get(pairKey(link)) ?? []), ...this.#links].filter(
      (past) =>
        past.dialled.life === link.dialled.life &&
        past.targetHost === workerHost &&
        past.epoch > 0 &&
        past.epoch < link.epoch,
    );
    let count = 0;
    for (const past of older.slice(-3)) {
      for (const { toWorker, envelope } of past.history) {
        // A hello opens a session and carries its own epoch; it is not a frame within one.
        if (envelope.frame.kind === "hello" || this.#prng.next() < 0.4) continue;
        const from = toWorker ? link.dialled : accepted;
        this.transmit(link, from, { kind: "frame", envelope, isStale: true });
        count += 1;
      }
    }
    return count;
  }

  reset(link: SimLink, end: LinkEnd): void {
    const fromHost = end === link.dialled ? link.targetHost : link.dialled.host;
    const way = this.conditions.direction(fromHost, end.host);
    if (way.blocks > 0) return;
    this.timeline.after(this.conditions.latencyMs(way), () => {
      if (!end.isClosed) link.tell(end, "connection reset by peer");
    });
  }

  acceptLink(link: SimLink): void {
    const host = this.#hosts.get(link.targetHost);
    if (this.#dark.has(link.targetHost)) {
      this.timeline.after(3_000 + this.#prng.next() * 4_000, () =>
        link.tell(link.dialled, "connect timed out"),
      );
      return;
    }
    if (host === undefined || host.accept === undefined || host.life.isDown) {
      link.tell(link.dialled, "connection refused");
      return;
    }
    const { accept } = host;
    const way = this.conditions.direction(link.targetHost, link.dialled.host);
    const end = new LinkEnd(host.life, link.targetHost, link, way);
    link.accepted = end;
    host.life.receive(() => {
      end.handlers = accept(end) as LinkHandlers<AnyEnvelope>;
    });
  }

  /**
   * One question, one answer. Rejects with `worker_unreachable` when no answer came within
   * `timeoutMs`, and with what the server threw. The promise stays open for ever when the asking
   * life ends.
   */
  request<T>(from: Life, toHost: string, request: unknown, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const finish = (settle: () => void): void => {
        from.receive(() => {
          if (isOver) return;
          isOver = true;
          settle();
        });
      };
      const fail = (message: string): void =>
        finish(() => reject(new OperatingError("worker_unreachable", "backoff", message)));
      this.timeline.after(timeoutMs, () => {
        if (!isOver) fail(`${toHost} did not answer in time`);
      });
      const there = this.conditions.direction(from.name, toHost);
      const back = this.conditions.direction(toHost, from.name);
      const answer = (settle: () => void): void => {
        this.timeline.after(this.conditions.latencyMs(back), () => {
          if (back.blocks === 0) finish(settle);
        });
      };
      this.timeline.after(this.conditions.latencyMs(there), () => {
        if (there.blocks > 0 || this.#dark.has(toHost)) return;
        const host = this.#hosts.get(toHost);
        if (host === undefined || host.serve === undefined || host.life.isDown) {
          answer(() => reject(new OperatingError("worker_unreachable", "backoff", "refused")));
          return;
        }
        const { serve } = host;
        host.life.receive(() => {
          serve(request, from.name).then(
            (value) => answer(() => resolve(value as T)),
            (thrown: unknown) => answer(() => reject(thrown)),
          );
        });
      });
    });
  }

  #arrive(link: SimLink, from: LinkEnd, toHost: string, arrival: Arrival): void {
    const label = arrival.kind === "frame" ? arrival.envelope.frame.kind : arrival.kind;
    this.#trace.note(label, toHost, arrival.kind === "frame" ? arrival.envelope.epoch : 0);
    link.arrive(from, arrival);
    if (arrival.kind === "fin" || link.dialled.isClosed) this.#retire(link);
  }

  #hold(link: SimLink, from: LinkEnd, toHost: string, arrival: Arrival): void {
    from.held.push(arrival);
    if (from.held.length > 1) return;
    const patienceMs =
      arrival.kind === "open"
        ? 3_000 + this.#prng.next() * 4_000
        : 8_000 + this.#prng.next() * 15_000;
    this.timeline.after(patienceMs, () => {
      if (from.held[0] !== arrival) return;
      from.held = [];
      from.isCut = true;
      link.tell(from, `no acknowledgement from ${toHost}`);
      this.#retire(link);
    });
  }

  /** Keeps a link that is over on both sides only as long as it may be replayed. */
  #retire(link: SimLink): void {
    const isOver =
      link.dialled.isClosed &&
      (link.accepted === undefined || link.accepted.isClosed) &&
      link.dialled.held.length === 0 &&
      (link.accepted === undefined || link.accepted.held.length === 0);
    if (!isOver || !this.#links.delete(link)) return;
    if (link.epoch === 0) return;
    const key = pairKey(link);
    const past = this.#past.get(key) ?? [];
    past.push(link);
    if (past.length > 3) past.shift();
    this.#past.set(key, past);
  }
}

function pairKey(link: SimLink): string {
  return `${link.dialled.host}>${link.targetHost}`;
}
