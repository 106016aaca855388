/** What a plan does to load tests. In a world without them it has no effect. */
import type { LoadProcess } from "../load/load-process.ts";
import type { LoadAction, LoadFault } from "../load/plan-load.ts";
import { storeHost, type World } from "./world.ts";

export class LoadFaults {
  readonly #world: World;
  readonly #lastFor: (forMs: number, undo: () => void) => void;

  constructor(world: World, lastFor: (forMs: number, undo: () => void) => void) {
    this.#world = world;
    this.#lastFor = lastFor;
  }

  act(action: LoadAction): void {
    const { load, trace } = this.#world;
    if (load === undefined) return;
    if (trace.printing) trace.say(JSON.stringify(action));
    const leader = () => this.#world.leader?.load;
    if (action.kind === "load_start") load.startRun(leader, action.run);
    else load.stopRun(leader, action.run);
  }

  /** Returns false when it had no effect. */
  inflict(fault: LoadFault): boolean {
    const { load, storeFaults, controllers } = this.#world;
    if (load === undefined) return false;
    switch (fault.kind) {
      case "load_phase_crash":
      case "load_phase_lost":
        load.traps.set(fault);
        return true;
      case "load_leaderless": {
        const up = controllers.filter(({ isUp }) => isUp);
        for (const host of up) this.#world.crash(host, false, fault.forMs);
        return up.length > 0;
      }
      case "load_store_outage":
        storeFaults.beginOutage();
        this.#lastFor(fault.forMs, () => storeFaults.endOutage());
        return true;
      case "load_target_down":
        load.servers.isDown = true;
        for (const { target, life } of load.processes) life.receive(() => target?.breakAll());
        this.#lastFor(fault.forMs, () => {
          load.servers.isDown = false;
        });
        return true;
      default: {
        const { processes } = load;
        const process = processes[fault.process % Math.max(1, processes.length)];
        return process === undefined ? false : this.#strike(fault, process);
      }
    }
  }

  #strike(fault: Extract<LoadFault, { readonly process: number }>, process: LoadProcess): boolean {
    const { load, storeFaults, conditions, timeline } = this.#world;
    const { life } = process;
    switch (fault.kind) {
      case "load_kill":
        load?.kill(process);
        return true;
      case "load_pause":
      case "load_freeze":
        if (!life.isUp) return false;
        if (fault.kind === "load_pause") life.pause();
        else life.freeze();
        this.#lastFor(fault.forMs, () => life.resume());
        return true;
      case "load_event_lost":
        process.eventsLost += fault.count;
        return true;
      case "load_event_late":
        process.eventsFromMs = timeline.nowMs + fault.forMs;
        return true;
      case "load_commit_lost":
        storeFaults.arm(life.name, fault.isAfter ? "lost_after" : "lost_before");
        return true;
      case "load_store_cut": {
        const ways = [
          conditions.direction(life.name, storeHost),
          conditions.direction(storeHost, life.name),
        ];
        for (const way of ways) way.blocks += 1;
        this.#lastFor(fault.forMs, () => {
          for (const way of ways) way.blocks -= 1;
        });
        return true;
      }
    }
  }
}
