/** Everything that waits to be computed, wherever it waits: what autoscalers and people look at. */
import { combineQueues, type QueueState, queueOfFacts } from "../core/index.ts";
import type { ControllerNode } from "./controller-node.ts";

/**
 * Queries at the gate, works that no worker has accepted, and what workers have accepted and not
 * begun. The last is as of their last heartbeats, and of all who give them work.
 */
export function waitingWork(
  { manager, pool }: Pick<ControllerNode, "manager" | "pool">,
  atTheGate: QueueState,
): QueueState {
  const onWorkers = pool.views().map(({ live }) => queueOfFacts(live?.facts ?? {}));
  return combineQueues([atTheGate, manager.queue(), ...onWorkers]);
}
