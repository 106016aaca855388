/** A store of a query without checkpoints: it keeps no state, and commits what sinks prepare. */
import type { Prepared } from "../core/checkpoint-record.ts";
import type { CheckpointStore } from "../core/checkpoint-store.ts";

export function createCommitStore(commit: (prepared: Prepared) => Promise<void>): CheckpointStore {
  return {
    last: undefined,
    epoch: 1,
    restore: () => Promise.resolve(undefined),
    store: (_, { fragment }) =>
      Promise.resolve({ fragment, nodes: [], positions: {}, objects: [] }),
    complete: (_checkpoint, _fragments, prepared) => commit(prepared),
  };
}
