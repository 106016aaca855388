/** What waits somewhere, and since when. */

export interface QueueState {
  readonly depth: number;
  /** How long the oldest has waited; 0 where nothing waits. */
  readonly oldestAgeMs: number;
}

/** Everything that waits: a query is in one of these places at a time. */
export function combineQueues(queues: Iterable<QueueState>): QueueState {
  let depth = 0;
  let oldestAgeMs = 0;
  for (const queue of queues) {
    depth += queue.depth;
    oldestAgeMs = Math.max(oldestAgeMs, queue.oldestAgeMs);
  }
  return { depth, oldestAgeMs };
}

/**
 * What a worker says of its own queue (`queue_depth`, `queue_oldest_ms`): as of its last heartbeat.
 */
export function queueOfFacts(facts: Readonly<Record<string, string>>): QueueState {
  const depth = Number(facts.queue_depth ?? 0) || 0;
  return { depth, oldestAgeMs: depth === 0 ? 0 : Number(facts.queue_oldest_ms ?? 0) || 0 };
}
