/** The state of fragments in the object store, which the worker writes and reads itself. */
import type { ObjectStore } from "../../../../data/lake/index.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type {
  EncodedFragment,
  ManifestFragment,
  QueryRun,
  RestoredFragment,
} from "../../run/core/index.ts";
import { readCheckpoint, storeState } from "../../run/index.ts";

export interface StateStorage {
  store(
    run: QueryRun,
    checkpoint: number,
    state: EncodedFragment,
    previous: ManifestFragment | undefined,
  ): Promise<ManifestFragment>;
  /** By the names of the fragments. */
  restore(states: readonly ManifestFragment[]): Promise<ReadonlyMap<string, RestoredFragment>>;
}

export interface StateStorageOptions {
  readonly objects: ObjectStore;
  readonly files: Files;
  readonly stagingDir: string;
}

/** Nothing of the lake's upkeep looks here: it lists the folders of tables. */
const root = "streams/checkpoints";

export function createStateStorage(options: StateStorageOptions): StateStorage {
  const { objects, files } = options;
  return {
    store: ({ query, epoch }, checkpoint, state, previous) =>
      storeState({
        ...options,
        prefix: `${root}/${query}`,
        // Other fragments, checkpoints and epochs have other names: an object has one writer.
        name: `${state.fragment}-${epoch}-${checkpoint}.state`,
        state,
        previous,
      }),
    restore: (fragments) => readCheckpoint({ fragments }, objects, files),
  };
}
