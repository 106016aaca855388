/** All work that waits to be computed, for autoscalers and people. */
import { combineQueues, type QueueState, queueOfFacts } from "../core/index.ts";
import type { ControllerNode } from "./controller-node.ts";

/**
 * Queries at the gate, works that no worker has accepted, and works that workers have accepted and
 * not begun. The last is as of their last heartbeats, and includes work of other controllers.
 */
export function waitingWork(
  { manager, pool }: Pick<ControllerNode, "manager" | "pool">,
  atTheGate: QueueState,
): QueueState {
  const onWorkers = pool.views().map(({ live }) => queueOfFacts(live?.facts ?? {}));
  return combineQueues([atTheGate, manager.queue(), ...onWorkers]);
}
