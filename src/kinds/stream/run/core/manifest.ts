/**
 * What a checkpoint is: a list of where each piece of state lies, and the positions of sources and
 * sinks, all of one moment. A piece that has not changed stays in the object of an earlier
 * checkpoint. Rules: SU10 to SU13.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";

export const manifestVersion = 1;

export interface CheckpointObject {
  readonly path: string;
  readonly sizeBytes: number;
  readonly crc32: number;
}

export interface ManifestSection {
  readonly key: string;
  readonly generation: number;
  /** Its place in `Manifest.objects`. */
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
  /** By node. */
  readonly positions: Readonly<Record<string, string>>;
}

export interface Manifest {
  readonly version: number;
  /** The plan that the state belongs to. */
  readonly planHash: string;
  readonly checkpoint: number;
  readonly epoch: number;
  readonly objects: readonly CheckpointObject[];
  readonly fragments: readonly ManifestFragment[];
}

/** Throws an error that says what is not as it must be to go on from this checkpoint. */
export function checkManifest(manifest: Manifest, planHash: string): void {
  if (manifest.version !== manifestVersion) {
    throw refused(
      `it was written by another version: its format is ${manifest.version}, ours is ${manifestVersion}`,
    );
  }
  if (manifest.planHash !== planHash) {
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
