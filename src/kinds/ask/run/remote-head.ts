/**
 * The snapshot of a head that another process owns, for replicas that answer queries (QP17).
 * While the owner is silent, the store is asked whether the head has a new owner, so that a
 * successor is asked at once. The silent owner is waited for during `patienceMs` from the start of
 * the outage; later queries of the same outage ask once.
 * A query that ends before the oldest sample that the owner can have needs no head. The last
 * snapshot bounds that: a head takes no sample older than its newest by more than its window (MH2).
 */
import { Agent as HttpAgent, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as tlsRequest } from "node:https";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { bearerOf } from "../../../ground/kernel/node/cluster-token.ts";
import { earliestOf, type HeadSnapshot, parseHeadSnapshot } from "../metrics/index.ts";

export interface HeadOwner {
  readonly url: string;
  /** Changes whenever the head is opened again. */
  readonly incarnation: string;
}

export interface RemoteHeadOptions {
  readonly clock: Clock;
  /** The owner according to the store; `undefined` when there never was one. */
  readonly owner: () => Promise<HeadOwner | undefined>;
  /** A readable sentence about who leads, or that nobody does. */
  readonly leader?: () => Promise<string>;
  readonly clusterToken: string;
  /** How long one request waits for an answer, and how long an outage is waited out. */
  readonly silenceMs?: number;
  readonly patienceMs?: number;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export interface RemoteHead {
  /**
   * `lastMs` is the newest time of the query. Returns `undefined` when there is no head, or none
   * that can have samples so old.
   */
  snapshot(lastMs?: Promise<number>): Promise<HeadSnapshot | undefined>;
  close(): void;
}

const silenceMsDefault = 3_000;
/**
 * Covers an expiring lease (5 s), the next poll of a standby (1.5 s), and the opening of its log.
 */
const patienceMsDefault = 12_000;
const retryMs = 200;
/** How often the store is asked whether a silent owner was replaced. */
const lookMs = 400;

export function createRemoteHead(options: RemoteHeadOptions): RemoteHead {
  const remote = new PatientHead(options);
  return { snapshot: (lastMs) => remote.snapshot(lastMs), close: () => remote.close() };
}

class PatientHead {
  readonly #options: RemoteHeadOptions;
  readonly #httpAgent: HttpAgent;
  readonly #httpsAgent: HttpsAgent;
  /** Taken from the last snapshot. */
  #known: { readonly incarnation: string; readonly earliestMs: number } | undefined;
  #silentSinceMs: number | undefined;

  constructor(options: RemoteHeadOptions) {
    this.#options = options;
    const pooling = { keepAlive: true, maxSockets: 4 };
    this.#httpAgent = new HttpAgent(pooling);
    this.#httpsAgent = new HttpsAgent({ ...pooling, ...options.tls });
  }

  async snapshot(lastMs: Promise<number> | undefined): Promise<HeadSnapshot | undefined> {
    const { clock, patienceMs = patienceMsDefault } = this.#options;
    for (;;) {
      const owner = await this.#options.owner();
      if (owner === undefined || owner.url === "") return undefined;
      try {
        return await this.#askUnlessMoved(owner, lastMs);
      } catch (thrown) {
        if (thrown instanceof OperatingError) throw thrown; // The store's.
        this.#silentSinceMs ??= clock.nowMs();
        const isOver = clock.nowMs() - this.#silentSinceMs >= patienceMs;
        if (isOver && !(thrown instanceof Moved)) throw await this.#notReached(messageOf(thrown));
      }
      await sleep(clock, retryMs);
    }
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  /** Asks the owner, until the store names another one or the query turns out to need no head. */
  async #askUnlessMoved(
    owner: HeadOwner,
    lastMs: Promise<number> | undefined,
  ): Promise<HeadSnapshot | undefined> {
    const over = new AbortController();
    try {
      const answers: Promise<HeadSnapshot | undefined>[] = [
        this.#ask(owner, over.signal),
        this.#moved(owner, over.signal),
      ];
      const earliestMs = this.#earliestOf(owner);
      if (lastMs !== undefined && earliestMs !== undefined) {
        answers.push(neededBefore(lastMs, earliestMs));
      }
      return await Promise.race(answers);
    } finally {
      over.abort();
    }
  }

  async #ask(owner: HeadOwner, signal: AbortSignal): Promise<HeadSnapshot> {
    const response = await this.#get(new URL("/head/snapshot", owner.url), signal);
    const text = Buffer.concat((await response.toArray()) as Uint8Array[]).toString();
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`);
    const snapshot = parseHeadSnapshot(text);
    this.#silentSinceMs = undefined;
    this.#known = { incarnation: snapshot.incarnation, earliestMs: earliestOf(snapshot) };
    return snapshot;
  }

  #earliestOf({ incarnation }: HeadOwner): number | undefined {
    return this.#known?.incarnation === incarnation ? this.#known.earliestMs : undefined;
  }

  /** Rejects when the store names another owner; never resolves. */
  async #moved(owner: HeadOwner, signal: AbortSignal): Promise<never> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, lookMs, signal);
      if (signal.aborted) break;
      const now = await this.#options.owner();
      if (now?.incarnation !== owner.incarnation) throw new Moved("it has another owner by now");
    }
    return await new Promise<never>(() => undefined);
  }

  async #notReached(why: string): Promise<OperatingError> {
    const leader = (await this.#options.leader?.()) ?? "";
    const message = `the coordinator that has the newest samples does not answer: ${why}${leader === "" ? "" : `; ${leader}`}`;
    return new OperatingError("leader_unreachable", "backoff", message, {
      hint: "Wake that coordinator up or end it, or start another one: answers come back once a coordinator leads. Times that are in segments alone can be asked for meanwhile.",
    });
  }

  #get(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const { clusterToken, silenceMs = silenceMsDefault } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: bearerOf(clusterToken) };
    const options = { headers, timeout: silenceMs, signal };
    const sent =
      url.protocol === "https:"
        ? tlsRequest(url, { ...options, agent: this.#httpsAgent }, resolve)
        : request(url, { ...options, agent: this.#httpAgent }, resolve);
    sent.on("timeout", () => sent.destroy(new Error(`it was silent for ${silenceMs} ms`)));
    sent.on("error", reject);
    sent.end();
    return promise;
  }
}

class Moved extends Error {}

/** Resolves with no head when the query ends before `earliestMs`; otherwise it never resolves. */
async function neededBefore(lastMs: Promise<number>, earliestMs: number): Promise<undefined> {
  // The caller already knows why `lastMs` failed.
  const last = await lastMs.catch(() => Infinity);
  if (last < earliestMs) return undefined;
  return await new Promise<never>(() => undefined);
}
