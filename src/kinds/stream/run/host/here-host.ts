/**
 * A host of fragments on the thread that calls it: the whole of a small process, or one thread of a
 * pool. Rules: SU1, SU23.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import { QueryMemory } from "../../engine/core/index.ts";
import type { Connectors } from "../core/connectors.ts";
import type { InEdge, OutEdge } from "../core/edge.ts";
import type { FragmentProgress } from "../core/progress.ts";
import {
  type FarEnd,
  type FragmentEvents,
  type FragmentSpec,
  type QueryRun,
  runName,
  type StreamHost,
} from "../core/stream-host.ts";
import type { EdgeHub, EdgeName } from "../exchange/edge-hub.ts";
import { FairTurns } from "./fair-turns.ts";
import { FragmentHost } from "./fragment-host.ts";
import type { StreamMemory } from "./stream-memory.ts";

export interface HereHostOptions {
  readonly connectors: Connectors;
  readonly clock: Clock;
  /** Edges that end here, from this thread and from other processes. */
  readonly hub: EdgeHub;
  /** An edge to a fragment in another process. */
  readonly sendTo: (address: string, name: EdgeName) => OutEdge;
  readonly memory: StreamMemory;
  /** Gives others a turn; by default the event loop. */
  readonly giveWay?: () => Promise<void>;
}

/** What a host of several threads gives to each of them. */
export interface GivenParts {
  /** Edges that the thread does not make itself; `undefined`: it does. */
  out(name: EdgeName): OutEdge | undefined;
  in(name: EdgeName): InEdge | undefined;
  /** The memory of the whole query. */
  readonly pages: SharedArrayBuffer;
}

interface HostedRun {
  readonly events: FragmentEvents;
  readonly hosts: Map<string, FragmentHost>;
  isStopped: boolean;
}

export class HereHost implements StreamHost {
  readonly #options: HereHostOptions;
  readonly #turns: FairTurns;
  readonly #runs = new Map<string, HostedRun>();

  constructor(options: HereHostOptions) {
    this.#options = options;
    this.#turns = new FairTurns(options.giveWay);
  }

  async deploy(
    run: QueryRun,
    specs: readonly FragmentSpec[],
    events: FragmentEvents,
    given: GivenParts = {
      out: () => undefined,
      in: () => undefined,
      pages: new SharedArrayBuffer(4),
    },
  ): Promise<void> {
    const name = runName(run);
    assert(!this.#runs.has(name), "a run is deployed once");
    const hosted: HostedRun = { events, hosts: new Map(), isStopped: false };
    this.#runs.set(name, hosted);
    try {
      for (const spec of specs) {
        const host = this.#create(run, spec, hosted, given);
        hosted.hosts.set(spec.fragment, host);
        await host.open();
      }
    } catch (thrown) {
      await this.stop(run);
      throw thrown;
    }
  }

  start(run: QueryRun): void {
    const hosted = this.#runs.get(runName(run));
    if (hosted === undefined) return;
    for (const [fragment, host] of hosted.hosts) void this.#run(fragment, host, hosted);
  }

  drain(run: QueryRun, suspend: boolean): void {
    for (const host of this.#hostsOf(run)) host.drain(suspend);
  }

  trigger(run: QueryRun, checkpoint: number): void {
    for (const host of this.#hostsOf(run)) host.trigger(checkpoint);
  }

  completed(run: QueryRun, checkpoint: number): void {
    for (const host of this.#hostsOf(run)) host.completed(checkpoint);
  }

  progress(run: QueryRun): Promise<readonly FragmentProgress[]> {
    return Promise.resolve(this.#hostsOf(run).map((host) => host.progress()));
  }

  async stop(run: QueryRun): Promise<void> {
    const hosted = this.#runs.get(runName(run));
    if (hosted === undefined) return;
    hosted.isStopped = true;
    await Promise.all(Array.from(hosted.hosts.values(), (host) => host.close()));
    this.#runs.delete(runName(run));
  }

  /** Ends everything. */
  async close(): Promise<void> {
    for (const hosted of this.#runs.values()) {
      hosted.isStopped = true;
      await Promise.all(Array.from(hosted.hosts.values(), (host) => host.close()));
    }
    this.#runs.clear();
  }

  #hostsOf(run: QueryRun): readonly FragmentHost[] {
    return [...(this.#runs.get(runName(run))?.hosts.values() ?? [])];
  }

  async #run(fragment: string, host: FragmentHost, hosted: HostedRun): Promise<void> {
    try {
      const ended = await host.run();
      if (hosted.isStopped || ended === undefined) return;
      hosted.hosts.delete(fragment);
      hosted.events.ended(fragment, ended);
    } catch (thrown) {
      if (hosted.isStopped) return;
      hosted.hosts.delete(fragment);
      hosted.events.failed(fragment, thrown);
      await host.close();
    }
  }

  #create(
    run: QueryRun,
    spec: FragmentSpec,
    { events }: HostedRun,
    given: GivenParts,
  ): FragmentHost {
    const { connectors, clock, hub, sendTo, memory } = this.#options;
    const { fragment } = spec;
    const { memoryBytesMax } = spec.settings;
    const pages = memory.open(given.pages, memoryBytesMax);
    const out = (exchange: number, far: FarEnd): OutEdge => {
      const name = { ...run, exchange, from: fragment, to: far.fragment };
      if (far.address !== undefined) return sendTo(far.address, name);
      return given.out(name) ?? hub.send(name);
    };
    const into = (exchange: number, far: FarEnd): InEdge => {
      const name = { ...run, exchange, from: far.fragment, to: fragment };
      const edge = given.in(name) ?? hub.receive(name);
      return { ...edge, isRemote: far.address !== undefined };
    };
    return new FragmentHost({
      run,
      spec,
      edges: {
        out: (exchange) => (spec.out.get(exchange) ?? []).map((far) => out(exchange, far)),
        in: (exchange) => (spec.in.get(exchange) ?? []).map((far) => into(exchange, far)),
      },
      connectors,
      clock,
      turns: this.#turns,
      memory: new QueryMemory(memoryBytesMax, pages.reserve),
      release: pages.release,
      acknowledged: (checkpoint, state) => events.acknowledged(checkpoint, state),
    });
  }
}
