/** What a plan does to the lake and to dynamic tables. In a world without them it has no effect. */
import type { TableAction, TableFault } from "../tables/plan-tables.ts";
import type { World } from "./world.ts";

export class TableFaults {
  readonly #world: World;
  readonly #lastFor: (forMs: number, undo: () => void) => void;

  constructor(world: World, lastFor: (forMs: number, undo: () => void) => void) {
    this.#world = world;
    this.#lastFor = lastFor;
  }

  act(action: TableAction): void {
    const { tables, controllers, counters, trace } = this.#world;
    const first = action.controller % controllers.length;
    const inOrder = [...controllers.slice(first), ...controllers.slice(0, first)];
    const service = inOrder.find(({ serves }) => serves)?.tableService;
    if (tables === undefined || service === undefined) {
      counters.add("table action refused: nobody serves");
      return;
    }
    if (trace.printing) trace.say(JSON.stringify(action));
    tables.clients.act(service, action, (code) => trace.note(code, action.kind));
  }

  /** Returns false when it had no effect. */
  inflict(fault: TableFault): boolean {
    const { tables, workers, hosts, storeFaults, storeUsers } = this.#world;
    if (tables === undefined) return false;
    switch (fault.kind) {
      case "refresh_crash":
      case "refresh_pause":
        tables.traps.set(fault);
        return true;
      case "refresh_failure":
        tables.traps.failNext(fault);
        return true;
      case "object_errors":
        tables.objects.failNext(fault.count);
        return true;
      case "object_outage":
        tables.objects.beginOutage();
        this.#lastFor(fault.forMs, () => tables.objects.endOutage());
        return true;
      case "clock_set": {
        const life = hosts[fault.process % hosts.length]?.life;
        life?.setWallClock(fault.byMs);
        return life?.isDown === false;
      }
      case "clock_freeze": {
        const life = workers[fault.worker % workers.length]?.life;
        if (life?.isUp !== true) return false;
        life.freeze();
        this.#lastFor(fault.forMs, () => life.resume());
        return true;
      }
      case "store_failover":
        for (const [index, { name }] of storeUsers.entries()) {
          storeFaults.arm(name, index % 2 === 0 ? "lost_after" : "lost_before");
        }
        // The pending commit is still done; then nobody answers.
        this.#world.timeline.after(50, () => {
          storeFaults.beginOutage();
          this.#lastFor(fault.forMs, () => storeFaults.endOutage());
        });
        return true;
    }
  }
}
