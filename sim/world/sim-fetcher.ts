/** Fetches artifacts over the simulated network and verifies them, as the HTTP fetcher does. */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { WorkerId } from "../../src/ground/kernel/ids.ts";
import type { Artifact, ArtifactFetcher, LocalArtifact } from "../../src/ground/work/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { SimDisk } from "./disk.ts";
import type { SimNetwork } from "./network.ts";
import { checksumOf } from "./work-body.ts";

/** A request to a worker's data server. The answer is the content; undefined when there is none. */
export interface ArtifactRequest {
  readonly kind: "artifact";
  readonly name: string;
}

export class SimFetcher implements ArtifactFetcher {
  readonly #life: Life;
  readonly #disk: SimDisk;
  readonly #network: SimNetwork;
  readonly #timeoutMs: number;
  #count = 0;

  constructor(life: Life, disk: SimDisk, network: SimNetwork, timeoutMs: number) {
    this.#life = life;
    this.#disk = disk;
    this.#network = network;
    this.#timeoutMs = timeoutMs;
  }

  async fetch(
    _workerId: WorkerId,
    artifact: Artifact,
    signal: AbortSignal,
  ): Promise<LocalArtifact> {
    const { host, name } = parseUrl(artifact.url);
    const request: ArtifactRequest = { kind: "artifact", name };
    this.#count += 1;
    // Now and then an abort comes too late, after the bytes have arrived.
    const isDeaf = this.#count % 4 === 0;
    const content =
      artifact.content ??
      (await this.#ask(host, request, isDeaf ? new AbortController().signal : signal));
    if (content === undefined) {
      throw new OperatingError("artifact_lost", "backoff", `${name} is not there`);
    }
    if (!this.isIntact(content, artifact)) {
      throw new OperatingError("artifact_corrupt", "backoff", `${name} is not what was offered`);
    }
    const path = `fetched/${this.#count}-${name}`;
    this.#disk.write(path, content);
    return {
      content: path,
      artifact,
      file: () => Promise.resolve(path),
      dispose: () => {
        this.#disk.remove(path);
        return Promise.resolve();
      },
    };
  }

  protected isIntact(content: Uint8Array, artifact: Artifact): boolean {
    return content.length === artifact.sizeBytes && checksumOf(content) === artifact.checksum;
  }

  async #ask(
    host: string,
    request: ArtifactRequest,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(cancelled()), { once: true });
    });
    try {
      const answer = this.#network.request<Uint8Array | undefined>(
        this.#life,
        host,
        request,
        this.#timeoutMs,
      );
      return await Promise.race([answer, aborted]);
    } catch (thrown) {
      if (signal.aborted) throw cancelled();
      throw new OperatingError("artifact_lost", "backoff", `${host} cannot be reached`, {
        cause: thrown,
      });
    }
  }
}

function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "no longer wanted");
}

function parseUrl(url: string): { readonly host: string; readonly name: string } {
  const { hostname, pathname } = new URL(url);
  return { host: hostname, name: pathname.slice(pathname.lastIndexOf("/") + 1) };
}
