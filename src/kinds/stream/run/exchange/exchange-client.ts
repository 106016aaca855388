/**
 * Sends frames to fragments of another process: one connection for each process, one stream of it
 * for each edge, and no more bytes under way than the receiver has given credit for (SU24).
 */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { type Clock, repeat, type Timer } from "../../../../ground/kernel/clock.ts";
import type { TlsFiles } from "../../../../ground/kernel/tls.ts";
import { DialectError } from "../../language/core/index.ts";
import type { OutEdge } from "../core/edge.ts";
import { type EdgeName, edgePath } from "./edge-hub.ts";
import { exchangePrefix } from "./exchange-server.ts";
import { type PeerMeasures, PeerMeter } from "./measure-peer.ts";
import { edgeBytesMax } from "./memory-edge.ts";

export interface ExchangeClientOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** The certificate of this process, and who signed the others' (SU29). */
  readonly tls?: TlsFiles;
  /** How often a peer is measured. */
  readonly measureMs?: number;
}

/** Another process that edges lead to. */
interface FarProcess {
  session: ClientHttp2Session;
  readonly meter: PeerMeter;
  readonly edges: Set<OutEdge>;
}

const measureMsDefault = 1_000;

export class ExchangeClient {
  readonly #options: ExchangeClientOptions;
  readonly #peers = new Map<string, FarProcess>();
  #measuring: Timer | undefined;

  constructor(options: ExchangeClientOptions) {
    this.#options = options;
  }

  close(): void {
    this.#measuring?.cancel();
    this.#measuring = undefined;
    for (const { session } of this.#peers.values()) session.destroy();
    this.#peers.clear();
  }

  /** What each process is like that edges lead to (SU28). */
  measures(): readonly PeerMeasures[] {
    return Array.from(this.#peers, ([address, { meter, edges }]) => {
      let backlogBytes = 0;
      for (const { heldBytes } of edges) backlogBytes += heldBytes;
      return meter.measures(address, backlogBytes);
    });
  }

  send(address: string, name: EdgeName): OutEdge {
    const { session, meter, edges } = this.#peer(address);
    const stream = session.request(
      {
        ...this.#options.headers,
        [constants.HTTP2_HEADER_METHOD]: "POST",
        [constants.HTTP2_HEADER_PATH]: `${exchangePrefix}${edgePath(name)}`,
      },
      { endStream: false },
    );
    const waiting: Uint8Array[] = [];
    let waitingBytes = 0;
    let credit = edgeBytesMax;
    let failure: Error | undefined;
    let room = Promise.withResolvers<void>();
    let moved = Promise.withResolvers<void>();
    let partial = Buffer.alloc(0);
    let isClosed = false;
    const fail = (why: string): void => {
      failure ??= new DialectError(4001, `the exchange with ${address} was lost: ${why}`);
      for (const waits of [room, moved]) {
        waits.promise.catch(() => undefined);
        waits.reject(failure);
      }
    };
    const flush = (): void => {
      while (waiting.length > 0 && credit > 0) {
        const frame = waiting.shift() as Uint8Array;
        waitingBytes -= frame.length;
        credit -= frame.length;
        stream.write(frame);
      }
      moved.resolve();
      moved = Promise.withResolvers();
      if (waitingBytes <= edgeBytesMax) {
        room.resolve();
        room = Promise.withResolvers();
      }
    };
    stream.on("response", (headers) => {
      const status = Number(headers[constants.HTTP2_HEADER_STATUS]);
      if (status !== 200) fail(`it answered with status ${status}`);
    });
    stream.on("data", (chunk: Buffer) => {
      partial = Buffer.concat([partial, chunk]);
      while (partial.length >= 4) {
        const taken = partial.readUInt32LE(0);
        credit += taken;
        meter.taken(taken);
        partial = partial.subarray(4);
      }
      flush();
    });
    stream.on("error", (error) => fail(error.message));
    stream.on("close", () => {
      edges.delete(edge);
      // Also where nothing waits: what was sent last may not have arrived.
      if (!isClosed) fail("the connection was closed");
    });
    const edge: OutEdge = {
      send: (frame) => {
        if (failure !== undefined) throw failure;
        waiting.push(frame);
        waitingBytes += frame.length;
        flush();
        return waitingBytes > edgeBytesMax ? room.promise : undefined;
      },
      flush: async () => {
        while (waiting.length > 0) await moved.promise;
        if (failure !== undefined) throw failure;
      },
      get heldBytes() {
        return waitingBytes + edgeBytesMax - credit;
      },
      get backlogBytes() {
        return waitingBytes + edgeBytesMax - credit;
      },
      close: () => {
        isClosed = true;
        if (waiting.length === 0) stream.end();
        else stream.close(constants.NGHTTP2_CANCEL);
      },
    };
    edges.add(edge);
    return edge;
  }

  #peer(address: string): FarProcess {
    const known = this.#peers.get(address);
    if (known !== undefined && !known.session.closed && !known.session.destroyed) return known;
    const settings = { initialWindowSize: 4 * edgeBytesMax };
    const session = connect(address, { settings, ...this.#options.tls });
    session.on("error", () => undefined); // Every stream of it is told.
    if (known !== undefined) {
      known.session = session;
      return known;
    }
    const { clock, measureMs = measureMsDefault } = this.#options;
    const peer = { session, meter: new PeerMeter(clock.nowMs()), edges: new Set<OutEdge>() };
    this.#peers.set(address, peer);
    this.#measuring ??= repeat(clock, measureMs, () => this.#measure());
    return peer;
  }

  #measure(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const { session, meter } of this.#peers.values()) {
      meter.tick(nowMs);
      if (session.closed || session.destroyed || session.connecting) continue;
      session.ping((error, roundTripMs) => {
        if (error === null) meter.answered(roundTripMs);
      });
    }
  }
}
