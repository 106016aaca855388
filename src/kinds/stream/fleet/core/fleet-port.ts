/** The workers as the reconcilers see them. */
import type { StreamCommand, StreamReport } from "./commands.ts";

export type Facts = Readonly<Record<string, string>>;

/**
 * Called synchronously, in order: `workerUp` opens a session, `workerDown` ends it, all other calls
 * are between the two. `facts` follows `workerUp` at once, with the whole inventory.
 */
export interface FleetEvents {
  workerUp(workerId: string): void;
  /** All facts of the worker, after a welcome and after each change of them. */
  facts(workerId: string, facts: Facts, version: number): void;
  report(workerId: string, report: StreamReport): void;
  workerDown(workerId: string, reason: string): void;
}

export interface FleetPort {
  /** `workerUp` and `facts` are replayed for every live session. Returns the unsubscriber. */
  listen(events: FleetEvents): () => void;
  /** `false`: the worker has no session, or does not speak of streams. */
  send(workerId: string, command: StreamCommand): boolean;
}
