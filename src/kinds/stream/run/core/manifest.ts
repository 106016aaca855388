/**
 * What a checkpoint is: a list of where each piece of state lies, and the positions of sources and
 * sinks, all of one moment. A piece that has not changed stays in the object of an earlier
 * checkpoint. Rules: SU10 to SU13.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";

export const manifestVersion = 2;

export interface CheckpointObject {
  readonly path: string;
  readonly sizeBytes: number;
  readonly crc32: number;
}

export interface ManifestSection {
  readonly key: string;
  readonly generation: number;
  /** Its place in `ManifestFragment.objects`. */
  readonly object: number;
  readonly offset: number;
  readonly length: number;
}

export interface ManifestNode {
  readonly node: number;
  /** Watermarks as decimal text. */
  readonly combined: string;
  readonly told: string;
  readonly sections: readonly ManifestSection[];
}

export interface ManifestFragment {
  readonly fragment: string;
  readonly nodes: readonly ManifestNode[];
  /** Of sources and sinks, by node. */
  readonly positions: Readonly<Record<string, string>>;
  /** Where its sections lie. */
  readonly objects: readonly CheckpointObject[];
}

/** What state belongs to: other plans, and other ways to spread keys, cannot go on with it. */
export interface StateIdentity {
  readonly planHash: string;
  /** How many instances share the keys. */
  readonly parallelism: number;
  /** Into how many groups keys are divided before they are given to instances. */
  readonly keyGroups: number;
}

export interface Manifest extends StateIdentity {
  readonly version: number;
  readonly checkpoint: number;
  readonly epoch: number;
  readonly fragments: readonly ManifestFragment[];
}

/** Throws an error that says what is not as it must be to go on from this checkpoint. */
export function checkManifest(manifest: Manifest, identity: StateIdentity): void {
  if (manifest.version !== manifestVersion) {
    throw refused(
      `it was written by another version: its format is ${manifest.version}, ours is ${manifestVersion}`,
    );
  }
  if (manifest.parallelism !== identity.parallelism) {
    throw refused(
      `it was taken with a parallelism of ${manifest.parallelism}, and this run has ${identity.parallelism}`,
      `Run it with a parallelism of ${manifest.parallelism}, or start without the checkpoint.`,
    );
  }
  if (manifest.keyGroups !== identity.keyGroups) {
    throw refused(`it has ${manifest.keyGroups} key groups, and there are ${identity.keyGroups}`);
  }
  if (manifest.planHash !== identity.planHash) {
    throw refused(
      "it was taken of another query",
      "Start without it, or with the same statements.",
    );
  }
}

function refused(why: string, hint?: string): OperatingError {
  const message = `the checkpoint cannot be gone on from: ${why}`;
  return new OperatingError("conflict", "never", message, hint === undefined ? {} : { hint });
}
