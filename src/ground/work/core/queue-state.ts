/** What waits in a queue, and since when. */

export interface QueueState {
  readonly depth: number;
  /** How long the oldest entry has waited; 0 when the queue is empty. */
  readonly oldestAgeMs: number;
}

/** Combines queues; a query is in only one of them at a time. */
export function combineQueues(queues: Iterable<QueueState>): QueueState {
  let depth = 0;
  let oldestAgeMs = 0;
  for (const queue of queues) {
    depth += queue.depth;
    oldestAgeMs = Math.max(oldestAgeMs, queue.oldestAgeMs);
  }
  return { depth, oldestAgeMs };
}

/** A worker's own queue (`queue_depth`, `queue_oldest_ms`) as of its last heartbeat. */
export function queueOfFacts(facts: Readonly<Record<string, string>>): QueueState {
  const depth = Number(facts.queue_depth ?? 0) || 0;
  return { depth, oldestAgeMs: depth === 0 ? 0 : Number(facts.queue_oldest_ms ?? 0) || 0 };
}
