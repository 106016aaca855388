/**
 * Fetches artifacts, with a limit on concurrent fetches. Each arrival is handed over exactly once:
 * the commit that it makes possible claims it, or it is deleted.
 */
import { type ErrorCode, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { WorkerId } from "../../kernel/ids.ts";
import { type Artifact, type WorkKey, workKeyText } from "./assignment/index.ts";
import type { ArtifactFetcher, LocalArtifact } from "./ports.ts";

export interface FetchOrder {
  readonly key: WorkKey;
  readonly attempt: number;
  readonly workerId: WorkerId;
  readonly artifact: Artifact;
}

export interface FetchDeskHandlers {
  /** The bytes are here. Call `claim` now, or they are deleted on return. */
  fetched(order: FetchOrder, readyToFetchMs: number, fetchMs: number): void;
  failed(order: FetchOrder, code: ErrorCode, message: string): void;
}

interface Fetch {
  readonly order: FetchOrder;
  readonly orderedMs: number;
  readonly controller: AbortController;
  local: LocalArtifact | undefined;
  fetchMs: number;
}

export class FetchDesk {
  readonly #fetcher: ArtifactFetcher;
  readonly #fetchesMax: number;
  readonly #nowMs: () => number;
  readonly #handlers: FetchDeskHandlers;
  readonly #dispose: (local: LocalArtifact, key: WorkKey) => void;
  /** Ordered fetches that are neither over nor aborted. The first `#underway` may have started. */
  readonly #fetches = new Map<string, Fetch>();
  readonly #waiting = new Set<Fetch>();
  #underwayCount = 0;

  constructor(options: {
    readonly fetcher: ArtifactFetcher;
    readonly fetchesMax: number;
    readonly nowMs: () => number;
    readonly handlers: FetchDeskHandlers;
    /** Deletes what was not claimed. */
    readonly dispose: (local: LocalArtifact, key: WorkKey) => void;
  }) {
    this.#fetcher = options.fetcher;
    this.#fetchesMax = options.fetchesMax;
    this.#nowMs = options.nowMs;
    this.#handlers = options.handlers;
    this.#dispose = options.dispose;
  }

  order(order: FetchOrder): void {
    const fetch: Fetch = {
      order,
      orderedMs: this.#nowMs(),
      controller: new AbortController(),
      local: undefined,
      fetchMs: 0,
    };
    this.#fetches.set(idOf(order.key, order.attempt), fetch);
    this.#waiting.add(fetch);
    this.#startWaiting();
  }

  /** No handler is called for it any more. */
  abort(key: WorkKey, attempt: number): void {
    const id = idOf(key, attempt);
    const fetch = this.#fetches.get(id);
    if (fetch === undefined) return;
    this.#fetches.delete(id);
    this.#waiting.delete(fetch);
    fetch.controller.abort();
  }

  /** Undefined when nothing was fetched for this attempt, or it was claimed before. */
  claim(
    key: WorkKey,
    attempt: number,
  ): { readonly result: LocalArtifact; readonly fetchMs: number } | undefined {
    const fetch = this.#fetches.get(idOf(key, attempt));
    if (fetch?.local === undefined) return undefined;
    const { local: result, fetchMs } = fetch;
    fetch.local = undefined;
    return { result, fetchMs };
  }

  #startWaiting(): void {
    for (const fetch of this.#waiting) {
      if (this.#underwayCount >= this.#fetchesMax) return;
      this.#waiting.delete(fetch);
      this.#start(fetch);
    }
  }

  #start(fetch: Fetch): void {
    this.#underwayCount += 1;
    const startedMs = this.#nowMs();
    const { workerId, artifact, key } = fetch.order;
    void this.#fetcher.fetch(workerId, artifact, fetch.controller.signal, key).then(
      (local) => {
        this.#underwayCount -= 1;
        this.#arrived(fetch, local, startedMs);
        this.#startWaiting();
      },
      (thrown: unknown) => {
        this.#underwayCount -= 1;
        this.#broke(fetch, thrown);
        this.#startWaiting();
      },
    );
  }

  #arrived(fetch: Fetch, local: LocalArtifact, startedMs: number): void {
    const { key, attempt } = fetch.order;
    const id = idOf(key, attempt);
    if (this.#fetches.get(id) !== fetch) {
      this.#dispose(local, key); // Aborted, but too late to stop it.
      return;
    }
    fetch.local = local;
    fetch.fetchMs = this.#nowMs() - startedMs;
    this.#handlers.fetched(fetch.order, startedMs - fetch.orderedMs, fetch.fetchMs);
    this.#fetches.delete(id);
    if (fetch.local !== undefined) this.#dispose(fetch.local, key);
  }

  #broke(fetch: Fetch, thrown: unknown): void {
    const id = idOf(fetch.order.key, fetch.order.attempt);
    if (this.#fetches.get(id) !== fetch) return;
    this.#fetches.delete(id);
    if (!(thrown instanceof OperatingError)) throw thrown; // Our own bug: not caught.
    this.#handlers.failed(fetch.order, thrown.code, messageOf(thrown));
  }
}

function idOf(key: WorkKey, attempt: number): string {
  return `${workKeyText(key)}/${attempt}`;
}
