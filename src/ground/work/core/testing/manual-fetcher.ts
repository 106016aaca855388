/** Fetches that end when a test says so. */
import { assert, type OperatingError } from "../../../kernel/errors.ts";
import type { WorkerId } from "../../../kernel/ids.ts";
import type { Artifact } from "../assignment/index.ts";
import type { ArtifactFetcher, LocalArtifact } from "../ports.ts";

interface Fetch {
  readonly workerId: WorkerId;
  readonly artifact: Artifact;
  readonly signal: AbortSignal;
  readonly end: PromiseWithResolvers<LocalArtifact>;
}

export class ManualFetcher implements ArtifactFetcher {
  readonly fetches: Fetch[] = [];
  /** Handed out and not disposed of. */
  readonly alive = new Set<string>();
  #pathNext = 1;

  fetch(workerId: WorkerId, artifact: Artifact, signal: AbortSignal): Promise<LocalArtifact> {
    const end = Promise.withResolvers<LocalArtifact>();
    this.fetches.push({ workerId, artifact, signal, end });
    return end.promise;
  }

  /** Completes the newest fetch, or the one at `index`. */
  arrive(index = this.fetches.length - 1): void {
    const fetch = this.fetches[index];
    assert(fetch !== undefined, "there is such a fetch");
    const path = `copy-${this.#pathNext}`;
    this.#pathNext += 1;
    this.alive.add(path);
    fetch.end.resolve({
      content: path,
      artifact: fetch.artifact,
      file: () => Promise.resolve(path),
      dispose: () => {
        this.alive.delete(path);
        return Promise.resolve();
      },
    });
  }

  fail(error: OperatingError, index = this.fetches.length - 1): void {
    this.fetches[index]?.end.reject(error);
  }
}
