/**
 * Applies the faults of a plan to a world. A fault without a target (a crash of what is down) has
 * no effect and is not counted.
 */

import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { WorkerId } from "../../src/ground/kernel/ids.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import type { LoadAction, LoadFault } from "../load/plan-load.ts";
import type { Action, Fault } from "../plan.ts";
import { type StreamAction, type StreamFault, streamFaultKinds } from "../streams/plan-streams.ts";
import type { TableAction, TableFault } from "../tables/plan-tables.ts";
import { LoadFaults } from "./load-faults.ts";
import { TableFaults } from "./table-faults.ts";
import { type Host, storeHost, type World } from "./world.ts";

export class Faults {
  readonly #world: World;
  readonly #prng: Prng;
  readonly #tables: TableFaults;
  readonly #load: LoadFaults;
  /** Undo functions of lasting faults. */
  readonly #lasting = new Set<() => void>();
  #count = 0;

  constructor(world: World) {
    this.#world = world;
    this.#prng = world.prng.fork("faults");
    this.#tables = new TableFaults(world, (forMs, undo) => this.#lastFor(forMs, undo));
    this.#load = new LoadFaults(world, (forMs, undo) => this.#lastFor(forMs, undo));
  }

  /** Faults that had an effect. */
  get count(): number {
    return this.#count;
  }

  perform(action: Action): void {
    if (action.kind === "query" || action.kind === "promql") {
      this.#ask(action);
      return;
    }
    const world = this.#world;
    if (isStreamAction(action)) {
      this.#actOnStreams(action);
      return;
    }
    if (isTableAction(action)) {
      this.#tables.act(action);
      return;
    }
    if (action.kind === "load_start" || action.kind === "load_stop") {
      this.#load.act(action satisfies LoadAction);
      return;
    }
    if (world.trace.printing) world.trace.say(`fault: ${JSON.stringify(action)}`);
    if (!this.#inflict(action)) return;
    this.#count += 1;
    world.counters.add(`fault: ${action.kind}`);
    world.streams?.faulted(action.kind);
    world.trace.note(action.kind, "fault");
  }

  /** Ends every fault and restarts everything. */
  heal(): void {
    // An undoing may begin another fault.
    while (this.#lasting.size > 0) for (const undo of [...this.#lasting]) undo();
    const world = this.#world;
    world.storeFaults.disarmAll();
    world.traps.disarm();
    world.conditions.calm();
    world.tables?.heal();
    world.load?.heal();
    world.streams?.heal();
    for (const { disk } of world.workers) disk.damageNext(0, "lost");
    world.trace.note("heal", "world");
    for (const host of world.hosts) {
      host.life?.resume();
      world.restart(host);
    }
  }

  #ask(action: Extract<Action, { kind: "query" | "promql" }>): void {
    const { controllers, clients, counters } = this.#world;
    const { controller, deadlineMs, cancelAfterMs } = action;
    const first = controller % controllers.length;
    const inOrder = [...controllers.slice(first), ...controllers.slice(0, first)];
    const host = inOrder.find(({ serves }) => serves);
    if (host === undefined) {
      counters.add("query refused: nobody serves");
      return;
    }
    const asks = action.kind === "query" ? action.works : action.query;
    clients.ask(host, { asks, deadlineMs, cancelAfterMs, mustSucceed: false });
  }

  #actOnStreams(action: StreamAction): void {
    const { streams, leader, counters } = this.#world;
    if (leader?.streams === undefined) counters.add("streams: nobody leads");
    else streams?.act(leader.streams, action);
  }

  /** Returns false when it had no effect. */
  #inflict(fault: Fault): boolean {
    const world = this.#world;
    switch (fault.kind) {
      case "crash": {
        const host = pick(world.hosts, fault.process);
        if (!host.isUp) return false;
        if (host.role === "coordinator") world.counters.add("coordinator crash");
        world.crash(host, fault.dark, fault.forMs);
        return true;
      }
      case "pause":
        return this.#pause(pick(world.hosts, fault.process), fault.forMs);
      case "partition":
        return this.#partition(fault);
      case "isolate":
        return this.#isolate(pick(world.hosts, fault.process), fault.forMs);
      case "delay": {
        const [a, b] = this.#pair(fault.a, fault.b);
        const there = world.conditions.direction(a.name, b.name);
        const back = world.conditions.direction(b.name, a.name);
        there.spikeMs = fault.extraMs;
        back.spikeMs = fault.extraMs * this.#prng.next();
        for (const way of [there, back]) way.spikeUntilMs = world.nowMs + fault.forMs;
        return true;
      }
      case "reset": {
        const [a, b] = this.#pair(fault.a, fault.b);
        return world.network.breakLinks(a.name, b.name) > 0;
      }
      case "reconnect_storm":
        return this.#storm(fault.rounds, fault.gapMs) > 0;
      case "duplicate": {
        const controller = pick(world.controllers, fault.controller);
        const worker = pick(world.workers, fault.worker);
        world.network.breakLinks(controller.name, worker.name);
        world.timeline.after(fault.afterMs, () => {
          const count = world.network.replayStale(controller.name, worker.name);
          world.counters.add("stale frame replayed", count);
        });
        return true;
      }
      case "artifact_loss":
        pick(world.workers, fault.worker).disk.damageNext(fault.count, "lost");
        return true;
      case "artifact_corruption":
        pick(world.workers, fault.worker).disk.damageNext(fault.count, "corrupt");
        return true;
      case "leaf_kill":
        world.traps.killLeaf(fault);
        return true;
      case "leaf_artifact_loss":
        world.traps.loseArtifacts(fault.count);
        return true;
      case "crash_between_spans":
        world.traps.crashBetweenSpans(fault);
        return true;
      case "operator_drain":
        return this.#drain(fault.worker, fault.forMs);
      case "worker_shutdown": {
        const worker = pick(world.workers, fault.worker);
        if (worker.life?.isUp !== true) return false;
        worker.shutDown(fault.drainMs);
        return true;
      }
      case "operator_drop":
        return this.#drop(fault.worker);
      case "controller_shutdown": {
        const controller = pick(world.controllers, fault.controller);
        if (controller.life?.isUp !== true || controller.isStopping) return false;
        controller.shutDown(this.#prng.next() * 3_000);
        return true;
      }
      case "lost_before_commit":
        world.storeFaults.arm(pick(world.storeUsers, fault.controller).name, "lost_before");
        return true;
      case "lost_after_commit":
        world.storeFaults.arm(pick(world.storeUsers, fault.controller).name, "lost_after");
        return true;
      case "store_outage":
        world.storeFaults.beginOutage();
        this.#lastFor(fault.forMs, () => world.storeFaults.endOutage());
        return true;
      case "store_partition": {
        const { name } = pick(world.storeUsers, fault.controller);
        const isOneWay = this.#prng.next() < 0.3;
        this.#block(name, storeHost, fault.forMs, isOneWay ? "b_to_a" : "both");
        return true;
      }
      case "store_slow": {
        const { name } = pick(world.storeUsers, fault.controller);
        world.storeFaults.slowDown(name, fault.extraMs);
        this.#lastFor(fault.forMs, () => world.storeFaults.slowDown(name, 0));
        return true;
      }
      case "stream_kills":
        return this.#killWave(fault);
      case "stream_clogs":
        return this.#clog(fault);
      case "stream_leader":
        world.streams?.traps.set(fault);
        return world.streams !== undefined;
      case "stream_objects":
        world.streams?.objects.failNext(fault.count);
        return world.streams !== undefined;
      default:
        if (isLoadFault(fault)) return this.#load.inflict(fault);
        return this.#tables.inflict(fault satisfies TableFault);
    }
  }

  #killWave({
    first,
    count,
    gapMs,
    dark,
    forMs,
  }: Extract<StreamFault, { kind: "stream_kills" }>): boolean {
    const { workers, timeline } = this.#world;
    const hit = Math.min(count, workers.length);
    for (let index = 0; index < hit; index += 1) {
      const host = pick(workers, first + index);
      timeline.after(this.#prng.next() * gapMs, () => {
        this.#world.crash(host, dark, forMs * (0.5 + this.#prng.next()));
      });
    }
    return true;
  }

  /** Each host by itself; the last that is cut off may be the first to come back. */
  #clog({ gapMs, forMs }: Extract<StreamFault, { kind: "stream_clogs" }>): boolean {
    for (const host of this.#world.hosts) {
      if (this.#prng.next() < 0.3) continue;
      const lastMs = forMs * (0.3 + this.#prng.next());
      this.#lastFor(this.#prng.next() * gapMs, () => this.#isolate(host, lastMs));
    }
    return true;
  }

  /** Breaks most links now, and `rounds - 1` times more. Returns how many it broke now. */
  #storm(rounds: number, gapMs: number): number {
    const { controllers, workers, network, counters } = this.#world;
    let count = 0;
    for (const controller of controllers) {
      for (const worker of workers) {
        if (this.#prng.next() < 0.2) continue;
        count += network.breakLinks(controller.name, worker.name);
      }
    }
    counters.add("link reset by a storm", count);
    if (rounds > 1) this.#lastFor(gapMs, () => this.#storm(rounds - 1, gapMs));
    return count;
  }

  #pause(host: Host, forMs: number): boolean {
    const { life } = host;
    if (life?.isUp !== true) return false;
    life.pause();
    this.#world.trace.note("paused", host.name);
    this.#lastFor(forMs, () => {
      life.resume();
      this.#world.trace.note("resumed", host.name);
    });
    return true;
  }

  #partition({ a, b, direction, forMs }: Extract<Fault, { kind: "partition" }>): boolean {
    const [left, right] = this.#pair(a, b);
    this.#block(left.name, right.name, forMs, direction);
    return true;
  }

  #isolate(host: Host, forMs: number): boolean {
    for (const other of this.#world.hosts) {
      if (other !== host) this.#block(host.name, other.name, forMs, "both");
    }
    return true;
  }

  #block(a: string, b: string, forMs: number, direction: "both" | "a_to_b" | "b_to_a"): void {
    const { conditions, network, streams } = this.#world;
    const ways: (readonly [string, string])[] = [];
    if (direction !== "b_to_a") ways.push([a, b]);
    if (direction !== "a_to_b") ways.push([b, a]);
    for (const [from, to] of ways) conditions.direction(from, to).blocks += 1;
    this.#lastFor(forMs, () => {
      for (const [from, to] of ways) {
        const way = conditions.direction(from, to);
        way.blocks -= 1;
        if (way.blocks > 0) continue;
        network.release(from, to);
        streams?.exchange.release(from, to);
      }
    });
  }

  /** The operator asks the leader, waits for its answer, and takes it back later. */
  #drain(index: number, forMs: number): boolean {
    const { workerId } = pick(this.#world.workers, index);
    return this.#operate(
      "drain",
      (node) => node.requestDrain(workerId),
      () => this.#lastFor(forMs, () => this.#undrain(workerId)),
    );
  }

  /** Retries until it is done, as an operator would. */
  #undrain(workerId: WorkerId): void {
    const again = (): void => {
      this.#world.timeline.after(500, () => this.#undrain(workerId));
    };
    const isAsked = this.#operate(
      "undrain",
      (node) => node.cancelDrain(workerId),
      (code) => {
        if (code !== "done" && code !== "not_found") again();
      },
    );
    if (!isAsked) again();
  }

  /** A worker is dropped in two steps: it has to drain first. */
  #drop(index: number): boolean {
    const { workerId } = pick(this.#world.workers, index);
    const drop = (): void => {
      const isAsked = this.#operate(
        "drop",
        (node) => node.dropWorker(workerId),
        (code) => {
          if (code !== "done") this.#undrain(workerId);
        },
      );
      if (!isAsked) this.#undrain(workerId);
    };
    return this.#operate(
      "drain",
      (node) => node.requestDrain(workerId),
      () => this.#world.timeline.after(500 + this.#prng.next() * 3_000, drop),
    );
  }

  /**
   * Asks the leader for something. `answered` hears `done`, the code of an error, or
   * `controller_died`. `false`: there is no leader to ask.
   */
  #operate(
    what: string,
    call: (node: ControllerNode) => Promise<unknown>,
    answered: (code: string) => void,
  ): boolean {
    const { leader, counters } = this.#world;
    const life = leader?.life;
    const node = leader?.node;
    if (life === undefined || node === undefined) return false;
    let isOver = false;
    const finish = (code: string): void => {
      if (isOver) return;
      isOver = true;
      counters.add(code === "done" ? `operator: ${what}` : `operator: ${what} failed, ${code}`);
      answered(code);
    };
    const run = async (): Promise<void> => {
      try {
        await call(node);
        finish("done");
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
        finish(thrown.code);
      }
    };
    life.onEnd(() => finish("controller_died"));
    life.receive(() => void run());
    return true;
  }

  #lastFor(forMs: number, undo: () => void): void {
    const once = (): void => {
      if (this.#lasting.delete(once)) undo();
    };
    this.#lasting.add(once);
    this.#world.timeline.after(forMs, once);
  }

  /** Two different hosts, mostly a controller and a worker. */
  #pair(a: number, b: number): readonly [Host, Host] {
    const { controllers, workers, hosts } = this.#world;
    if (b % 5 !== 0) return [pick(controllers, a), pick(workers, b)];
    const left = pick(hosts, a);
    const right = pick(hosts, a + 1 + (b % (hosts.length - 1)));
    return [left, right];
  }
}

function isLoadFault(fault: TableFault | LoadFault): fault is LoadFault {
  return fault.kind.startsWith("load_");
}

const streamFaults: ReadonlySet<string> = new Set(streamFaultKinds);

function isStreamAction(action: Action): action is StreamAction {
  return action.kind.startsWith("stream_") && !streamFaults.has(action.kind);
}

function isTableAction(action: Action): action is TableAction {
  return action.kind.startsWith("table_");
}

function pick<T>(items: readonly T[], index: number): T {
  return items[index % items.length] as T;
}
