/**
 * Pulls slices of the head from the process that owns it. All works of a query that read the same
 * series of the same shard share one pull, which ends when the last work that waits for it is
 * aborted.
 * Every pull reads under the query's snapshot. An owner that has restarted since refuses it, and
 * the query has to take a new snapshot.
 */

import { Agent as HttpAgent, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as tlsRequest } from "node:https";
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { queryIdHeader } from "../../../ground/kernel/ids.ts";
import { bearerOf } from "../../../ground/kernel/node/cluster-token.ts";
import { decodeRawSeries } from "../metrics/index.ts";
import { type Matcher, type RawSeries, sampleBytes } from "../promql/core/index.ts";
import type { PromqlWork } from "./core/work-body.ts";

export interface HeadPullerOptions {
  readonly clusterToken: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly clock: Clock;
  readonly sliceBytesMax: number;
}

interface Slice {
  readonly series: readonly RawSeries[];
  readonly bytes: number;
}

interface Pull {
  readonly slice: Promise<Slice>;
  readonly controller: AbortController;
  bytes: number;
  waiters: number;
  settled: boolean;
}

/**
 * The matching series with their samples. With sets: only the labels of series that match a set.
 */
type Asked =
  | { readonly matchers: readonly Matcher[] }
  | { readonly matcherSets: readonly (readonly Matcher[])[] };

function askedOf(work: PromqlWork): Asked {
  if (work.op === "leaf") return { matchers: work.leaf.matchers };
  return { matcherSets: work.matcherSets.length === 0 ? [[]] : work.matcherSets };
}

/** A request for a slice. The owner of the head logs the query's name. */
interface Asking {
  readonly url: URL;
  readonly body: string;
  readonly queryId: string;
}

const pullsMax = 64;
const keptBytesMax = 256 * 1024 ** 2;
const silenceMsMax = 10_000;
const busyMsMax = 10_000;
const unreachableMsMax = 500;
const askAgain = { minMs: 10, maxMs: 200 };

export class HeadPuller {
  readonly #options: HeadPullerOptions;
  readonly #httpAgent = new HttpAgent({ keepAlive: true, maxSockets: 16 });
  readonly #httpsAgent: HttpsAgent;
  readonly #pulls = new Map<string, Pull>();
  readonly #keptBytesMax: number;
  pullCount = 0;
  pulledBytes = 0;
  lastPullMs = 0;

  constructor(options: HeadPullerOptions) {
    this.#options = options;
    this.#keptBytesMax = Math.min(keptBytesMax, options.sliceBytesMax);
    this.#httpsAgent = new HttpsAgent({ keepAlive: true, maxSockets: 16, ...options.tls });
  }

  /** Empty when the work has no head to read. */
  async series(
    queryId: string,
    work: PromqlWork,
    signal: AbortSignal,
  ): Promise<readonly RawSeries[]> {
    if (work.head === undefined) return [];
    const asked = askedOf(work);
    const key = `${queryId}/${work.shard}.${work.shardCount}/${JSON.stringify(asked)}`;
    const { series } = await this.#shared(key, () => this.#newPull(queryId, work, asked), signal);
    return series;
  }

  close(): void {
    for (const { controller } of this.#pulls.values()) controller.abort();
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  async #shared(key: string, start: () => Pull, signal: AbortSignal): Promise<Slice> {
    const known = this.#pulls.get(key);
    const pull = known ?? start();
    if (known === undefined) this.#keep(key, pull);
    pull.waiters += 1;
    const onAbort = (): void => {
      pull.waiters -= 1;
      if (pull.waiters > 0 || pull.settled) return;
      pull.controller.abort(); // The last waiting work was aborted.
      if (this.#pulls.get(key) === pull) this.#pulls.delete(key);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      return await pull.slice;
    } catch (thrown) {
      if (this.#pulls.get(key) === pull) this.#pulls.delete(key);
      throw signal.aborted ? cancelled() : thrown;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Keeps the slice for other works of the query, bounded in number and bytes. */
  #keep(key: string, pull: Pull): void {
    this.#pulls.set(key, pull);
    let keptBytes = 0;
    for (const { bytes } of this.#pulls.values()) keptBytes += bytes;
    for (const [oldKey, old] of this.#pulls) {
      if (this.#pulls.size <= pullsMax && keptBytes <= this.#keptBytesMax) return;
      if (!old.settled) continue;
      this.#pulls.delete(oldKey);
      keptBytes -= old.bytes;
    }
  }

  #newPull(queryId: string, work: PromqlWork, asked: Asked): Pull {
    const controller = new AbortController();
    const pull: Pull = {
      slice: this.#pull(queryId, work, asked, controller.signal),
      controller,
      bytes: 0,
      waiters: 0,
      settled: false,
    };
    pull.slice.then(
      ({ bytes }) => {
        pull.settled = true;
        pull.bytes = bytes;
      },
      () => {
        pull.settled = true;
      },
    );
    return pull;
  }

  async #pull(
    queryId: string,
    { head, shard, shardCount }: PromqlWork,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Slice> {
    if (head === undefined) return { series: [], bytes: 0 };
    const startMs = this.#options.clock.nowMs();
    const { snapshot, minMs, maxMs } = head;
    const { incarnation, appendSeq } = snapshot;
    const body = JSON.stringify({
      incarnation,
      appendSeq,
      shard,
      shardCount,
      ...asked,
      minMs,
      maxMs,
    });
    const url = new URL("/head/slice", snapshot.url);
    const bytes = await this.#postPatiently({ url, body, queryId }, signal);
    this.pullCount += 1;
    this.pulledBytes += bytes.length;
    this.lastPullMs = this.#options.clock.nowMs() - startMs;
    const series = decodeRawSeries(bytes);
    return { series, bytes: heldBytes(series) };
  }

  /**
   * Retries for a while when the owner is overloaded. An owner that cannot be reached may have
   * restarted; then only a new snapshot helps.
   */
  async #postPatiently(asking: Asking, signal: AbortSignal): Promise<Uint8Array> {
    const { clock } = this.#options;
    const startMs = clock.nowMs();
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#post(asking, signal);
      } catch (thrown) {
        if (!(thrown instanceof OperatingError) || signal.aborted) throw thrown;
        const waitedMs = clock.nowMs() - startMs;
        if (thrown.code === "worker_unreachable") {
          if (waitedMs > unreachableMsMax) throw moved(thrown.message);
        } else if (thrown.code !== "overloaded" || waitedMs > busyMsMax) {
          throw thrown;
        }
      }
      await sleep(clock, backoffMs(askAgain, failures), signal);
    }
  }

  async #post(asking: Asking, signal: AbortSignal): Promise<Uint8Array> {
    const response = await this.#send(asking, signal).catch((thrown: unknown) => {
      throw unreachableHead(messageOf(thrown));
    });
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const chunk of response as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (length > this.#options.sliceBytesMax) throw tooLarge(this.#options.sliceBytesMax);
        chunks.push(chunk);
      }
    } catch (thrown) {
      throw thrown instanceof OperatingError ? thrown : unreachableHead(messageOf(thrown));
    }
    const bytes = Buffer.concat(chunks, length);
    if (response.statusCode !== 200) throw refusal(response.statusCode ?? 0, bytes.toString());
    return bytes;
  }

  #send({ url, body, queryId }: Asking, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const options = {
        method: "POST",
        headers: {
          authorization: bearerOf(this.#options.clusterToken),
          "content-type": "application/json",
          [queryIdHeader]: queryId,
        },
        signal,
        timeout: silenceMsMax,
      };
      const sent =
        url.protocol === "https:"
          ? tlsRequest(url, { ...options, agent: this.#httpsAgent }, resolve)
          : request(url, { ...options, agent: this.#httpAgent }, resolve);
      sent.on("timeout", () => sent.destroy(new Error(`it was silent for ${silenceMsMax} ms`)));
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

/** The memory that a slice takes. */
export function heldBytes(series: readonly RawSeries[]): number {
  let bytes = 0;
  for (const { samples } of series) bytes += samples.count * sampleBytes;
  return bytes;
}

/** Maps the owner's HTTP status to an error. */
function refusal(status: number, text: string): OperatingError {
  if (status === 409 || status === 410) {
    return moved("the head has another owner by now");
  }
  if (status === 503) {
    return new OperatingError("overloaded", "backoff", "the head's owner is busy");
  }
  const message = `the head's owner answered ${status}: ${text.slice(0, 300)}`;
  return new OperatingError("query_failed", status >= 500 ? "backoff" : "never", message);
}

function moved(message: string): OperatingError {
  return new OperatingError("head_moved", "never", message);
}

function unreachableHead(why: string): OperatingError {
  return new OperatingError("worker_unreachable", "backoff", `the head was not reached: ${why}`);
}

function tooLarge(bytesMax: number): OperatingError {
  const message = `the head has more than ${bytesMax} bytes for a part of the query`;
  return new OperatingError("query_too_large", "never", message);
}

function cancelled(): OperatingError {
  return new OperatingError("cancelled", "never", "the query was cancelled");
}
