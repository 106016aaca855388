/**
 * The stream threads of a process: a fixed number, whatever the number of fragments. A fragment is
 * an object on one of them; edges between threads are rings in shared memory, and what arrives from
 * other processes is handed on through one. A thread that dies fails the queries that it had
 * fragments of, and is replaced when the next one is deployed. Rules: SU25, SU27.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import {
  type MemoryBudget,
  type MemoryReservation,
  pageBytes,
} from "../../../../ground/process/core/index.ts";
import { type Peer, startThread } from "../../../../ground/threads/index.ts";
import type { InEdge } from "../core/edge.ts";
import type { FragmentProgress } from "../core/progress.ts";
import {
  type FragmentEvents,
  type FragmentSpec,
  type QueryRun,
  runName,
  type StreamHost,
} from "../core/stream-host.ts";
import type { SystemCalls } from "../core/system-rows.ts";
import { type EdgeHub, type EdgeName, edgePath } from "../exchange/edge-hub.ts";
import type { ExchangeClientOptions } from "../exchange/exchange-client.ts";
import type { PeerMeasures } from "../exchange/measure-peer.ts";
import { openRingOut } from "../exchange/ring.ts";
import type { FragmentLake } from "../lake/fragment-lake.ts";
import type { PreviewOutlets } from "../preview/preview-outlets.ts";
import { lakeHandlers } from "./lake-talk.ts";
import { layRings } from "./lay-rings.ts";
import { previewHandlers } from "./preview-talk.ts";
import { newThreadWords, releaseThread } from "./stream-memory.ts";
import {
  type StreamThread,
  type StreamThreadOptions,
  type StreamThreadOwner,
  streamThreadErrors,
} from "./stream-talk.ts";
import { systemHandlers } from "./system-talk.ts";

export interface StreamPoolOptions {
  readonly threads: number;
  readonly clock: Clock;
  readonly places: Pick<StreamThreadOptions, "sourceDir" | "sinkDir"> &
    Partial<Pick<StreamThreadOptions, "confined">>;
  /** What a Print sink gives; a promise means that there is no room for more until it resolves. */
  readonly print: (sink: string, text: string) => Promise<void> | undefined;
  readonly tell?: (text: string) => void;
  /** The budget of all work of the process, and what streams may reserve of it. */
  readonly memory: { readonly budget: MemoryBudget; readonly bytesMax: number };
  /** Edges from other processes, and how theirs are reached; absent: there are none. */
  readonly exchange?: Pick<ExchangeClientOptions, "headers" | "tls"> & { readonly hub: EdgeHub };
  /** Where previews put their rows; absent in a process without previews. */
  readonly previews?: PreviewOutlets;
  /** The streams of the system; absent: there are none. */
  readonly system?: SystemCalls;
  /** The lake of the process; absent: there is none. */
  readonly lake?: Pick<FragmentLake, "calls" | "stagingDir">;
}

type ThreadPeer = Peer<StreamThread, StreamThreadOwner>;

interface PooledRun {
  readonly events: FragmentEvents;
  readonly peers: readonly ThreadPeer[];
  /** Those from other processes, which are handed on to a thread. */
  readonly arrivals: InEdge[];
  isStopped: boolean;
}

export class StreamPool implements StreamHost {
  readonly #options: StreamPoolOptions;
  readonly #reservation: MemoryReservation;
  readonly #peers: (ThreadPeer | undefined)[];
  readonly #runs = new Map<string, PooledRun>();
  /** Where the first lane of the next run goes. */
  #nextThread = 0;

  constructor(options: StreamPoolOptions) {
    this.#options = options;
    this.#reservation = options.memory.budget.reserve(0);
    this.#peers = Array.from({ length: options.threads }, () => undefined);
  }

  async deploy(
    run: QueryRun,
    specs: readonly FragmentSpec[],
    events: FragmentEvents,
  ): Promise<void> {
    const first = this.#nextThread;
    this.#nextThread = (first + 1) % this.#peers.length;
    const threadOf = ({ lane }: FragmentSpec): number => (first + lane) % this.#peers.length;
    const byThread = Map.groupBy(specs, threadOf);
    const { rings, arriving } = layRings(run, specs, threadOf);
    const pages = new SharedArrayBuffer(4);
    const peers = new Map(Array.from(byThread.keys(), (thread) => [thread, this.#peer(thread)]));
    const pooled: PooledRun = {
      events,
      peers: [...peers.values()],
      arrivals: [],
      isStopped: false,
    };
    this.#runs.set(runName(run), pooled);
    for (const name of arriving) {
      const ring = rings.get(edgePath(name));
      if (ring !== undefined) this.#handOn(pooled, name, ring);
    }
    const deployed = await Promise.allSettled(
      Array.from(byThread, ([thread, here]) =>
        peers.get(thread)?.ask("deploy", { run, specs: here, rings, pages }),
      ),
    );
    const failed = deployed.find((each) => each.status === "rejected");
    if (failed === undefined) return;
    await this.stop(run);
    throw failed.reason;
  }

  start(run: QueryRun): void {
    const pooled = this.#runs.get(runName(run));
    for (const peer of pooled?.peers ?? []) {
      peer.ask("start", run).catch((thrown: unknown) => {
        if (pooled?.isStopped === false) pooled.events.failed("", thrown);
      });
    }
  }

  drain(run: QueryRun, suspend: boolean): void {
    for (const peer of this.#peersOf(run)) peer.tell("drain", { run, suspend });
  }

  trigger(run: QueryRun, checkpoint: number): void {
    for (const peer of this.#peersOf(run)) peer.tell("trigger", { run, checkpoint });
  }

  completed(run: QueryRun, checkpoint: number): void {
    for (const peer of this.#peersOf(run)) peer.tell("completed", { run, checkpoint });
  }

  async progress(run: QueryRun): Promise<readonly FragmentProgress[]> {
    const asked = this.#peersOf(run).map((peer) => peer.ask("progress", run));
    const answers = await Promise.allSettled(asked);
    // A thread that is gone has no fragments any more.
    return answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  }

  async stop(run: QueryRun): Promise<void> {
    const pooled = this.#runs.get(runName(run));
    if (pooled === undefined) return;
    pooled.isStopped = true;
    for (const edge of pooled.arrivals) edge.close();
    this.#options.previews?.close(run);
    await Promise.allSettled(pooled.peers.map((peer) => peer.ask("stop", run)));
    this.#runs.delete(runName(run));
  }

  /** What the exchange with each other process is like, as every thread has measured it. */
  async measures(): Promise<readonly PeerMeasures[]> {
    const peers = this.#peers.flatMap((peer) => peer ?? []);
    const answers = await Promise.allSettled(peers.map((peer) => peer.ask("measures", undefined)));
    return answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  }

  /** Threads that were started. */
  get threadCount(): number {
    return this.#peers.filter((peer) => peer !== undefined).length;
  }

  /** What all streams hold. */
  get heldBytes(): number {
    const { words, place } = this.#reservation.place;
    return Atomics.load(new Int32Array(words), place) * pageBytes;
  }

  /** Ends everything. */
  async close(): Promise<void> {
    for (const pooled of this.#runs.values()) {
      pooled.isStopped = true;
      for (const edge of pooled.arrivals) edge.close();
    }
    this.#runs.clear();
    this.#options.previews?.closeAll();
    await Promise.all(this.#peers.map((peer) => peer?.stop()));
    this.#reservation.release();
  }

  #peersOf(run: QueryRun): readonly ThreadPeer[] {
    return this.#runs.get(runName(run))?.peers ?? [];
  }

  /** Moves what another process sends from the hub to the thread that reads it. */
  #handOn({ arrivals }: PooledRun, name: EdgeName, ring: SharedArrayBuffer): void {
    const arrival = this.#options.exchange?.hub.receive(name);
    if (arrival === undefined) return;
    arrivals.push(arrival);
    const out = openRingOut(ring);
    void (async () => {
      for (;;) {
        const frame = await arrival.receive();
        if (frame === undefined) break;
        await out.send(frame);
      }
      await out.flush();
      out.close();
    })();
  }

  #peer(thread: number): ThreadPeer {
    const known = this.#peers[thread];
    if (known !== undefined && known.over === undefined) return known;
    const started = this.#startThread(thread);
    this.#peers[thread] = started;
    return started;
  }

  #startThread(thread: number): ThreadPeer {
    const { clock, places, memory, exchange, print, tell, lake, previews, system } = this.#options;
    const words = newThreadWords(this.#reservation, memory.bytesMax);
    const options: StreamThreadOptions = {
      confined: false,
      ...places,
      memory: words,
      exchange: exchange && {
        headers: exchange.headers,
        ...(exchange.tls && { tls: exchange.tls }),
      },
      lakeStagingDir: lake?.stagingDir,
    };
    const eventsOf = (run: QueryRun): FragmentEvents | undefined => {
      const pooled = this.#runs.get(runName(run));
      return pooled?.isStopped === false ? pooled.events : undefined;
    };
    const peer: ThreadPeer = startThread<StreamThread, StreamThreadOwner>({
      module: siblingModule(import.meta.url, "./stream-thread"),
      options,
      clock,
      errors: streamThreadErrors,
      lost: (cause) =>
        new OperatingError("query_failed", "backoff", `a stream thread ended: ${cause.message}`),
      worker: { name: `stream-${thread}` },
      handlers: {
        requests: {
          ...lakeHandlers(lake?.calls),
          print: async ({ sink, text }) => {
            await print(sink, text);
            return undefined;
          },
          ...previewHandlers(previews),
          ...systemHandlers(system),
        },
        notes: {
          acknowledged: ({ run, checkpoint, state }) =>
            eventsOf(run)?.acknowledged(checkpoint, state),
          ended: ({ run, fragment, ended }) => eventsOf(run)?.ended(fragment, ended),
          told: (text) => tell?.(text),
        },
      },
    });
    void peer.exited.then(() => releaseThread(words));
    return peer;
  }
}
