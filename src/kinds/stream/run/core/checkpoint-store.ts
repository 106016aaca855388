/**
 * Who keeps checkpoints. A local run keeps them in a directory; a coordinator will keep them in its
 * store.
 */
import type { Prepared } from "./checkpoint-record.ts";
import type { Manifest, ManifestFragment } from "./manifest.ts";
import type { EncodedFragment, RestoredFragment } from "./stream-host.ts";

export interface CheckpointStore {
  /** The last complete checkpoint. */
  readonly last: Manifest | undefined;
  /** Of this start of the query; greater than that of every earlier one. */
  readonly epoch: number;
  /** The state of every fragment in the last complete checkpoint, by name. */
  restore(): Promise<ReadonlyMap<string, RestoredFragment> | undefined>;
  /** Writes what is new in a fragment's state. Several fragments may be stored at a time. */
  store(checkpoint: number, state: EncodedFragment): Promise<ManifestFragment>;
  /**
   * Makes the checkpoint the last complete one, and commits what the sinks prepared for it. Called
   * one at a time, when everything that they wrote before is durable.
   */
  complete(
    checkpoint: number,
    fragments: readonly ManifestFragment[],
    prepared: Prepared,
  ): Promise<void>;
}
