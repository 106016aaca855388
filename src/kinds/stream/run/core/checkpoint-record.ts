/**
 * Where the last complete checkpoint of a query is recorded. A checkpoint is complete when its
 * record is; what its sinks prepared is committed in the same step, or neither is (SU40).
 */
import type { Manifest } from "./manifest.ts";

/** What the sinks of a plan hand over with a checkpoint, by node: texts of their own making. */
export type Prepared = ReadonlyMap<number, string>;

export interface CheckpointRecord {
  /** The manifest of the last complete checkpoint. */
  last(): Promise<Manifest | undefined>;
  /**
   * Everything that the manifest refers to is durable. When this throws, the checkpoint is not
   * complete and nothing of `prepared` was committed, unless the outcome is unknown.
   */
  complete(manifest: Manifest, prepared: Prepared): Promise<void>;
}
