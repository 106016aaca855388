/** Fetches from a map instead of the network. */
import { OperatingError } from "../../../kernel/errors.ts";
import type { WorkerId } from "../../../kernel/ids.ts";
import type { Artifact } from "../assignment/index.ts";
import type { ArtifactFetcher, LocalArtifact } from "../ports.ts";

export class MemoryArtifactFetcher implements ArtifactFetcher {
  /** The workers' artifacts, by address. */
  readonly offered = new Map<string, Uint8Array>();
  /** Fetched copies that are not disposed of, by path. */
  readonly copies = new Map<string, Uint8Array>();
  readonly #capacityBytes: number;
  readonly #checksum: (bytes: Uint8Array) => string;
  #pathNext = 1;

  constructor(capacityBytes: number, checksum: (bytes: Uint8Array) => string) {
    this.#capacityBytes = capacityBytes;
    this.#checksum = checksum;
  }

  fetch(_workerId: WorkerId, artifact: Artifact, signal: AbortSignal): Promise<LocalArtifact> {
    return Promise.resolve().then(() => this.#copy(artifact, signal));
  }

  #copy(artifact: Artifact, signal: AbortSignal): LocalArtifact {
    const bytes = this.offered.get(artifact.url);
    if (signal.aborted) throw new OperatingError("cancelled", "never", "cancelled");
    if (bytes === undefined) throw new OperatingError("artifact_lost", "backoff", "gone");
    if (bytes.length !== artifact.sizeBytes || this.#checksum(bytes) !== artifact.checksum) {
      throw new OperatingError("artifact_corrupt", "backoff", "not what was promised");
    }
    let usedBytes = bytes.length;
    for (const copy of this.copies.values()) usedBytes += copy.length;
    if (usedBytes > this.#capacityBytes) throw new OperatingError("disk_full", "backoff", "full");
    const path = `copy-${this.#pathNext}`;
    this.#pathNext += 1;
    this.copies.set(path, bytes);
    const dispose = (): Promise<void> => {
      this.copies.delete(path);
      return Promise.resolve();
    };
    return { content: path, artifact, file: () => Promise.resolve(path), dispose };
  }
}
