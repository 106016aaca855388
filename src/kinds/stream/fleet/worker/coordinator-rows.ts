/**
 * How a worker gets rows of the streams that a coordinator makes. A coordinator that cannot be
 * asked for some seconds is not the one that leads any more: then the fragment fails, and the next
 * one deploys it with its own address (SD84).
 */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { type Clock, sleep, within } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { TlsFiles } from "../../../../ground/kernel/tls.ts";
import type { AskedRows, SystemRows } from "../../run/core/index.ts";
import { type StreamsAnswer, streamsPath } from "../core/index.ts";

export interface CoordinatorRowsOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly tls?: TlsFiles;
}

const answerMsMax = 5_000;
const unreachableMsMax = 5_000;
const pauseMs = 250;

export class CoordinatorRows {
  readonly #options: CoordinatorRowsOptions;
  readonly #sessions = new Map<string, ClientHttp2Session>();
  /** By address: since when it has not answered. */
  readonly #silentSinceMs = new Map<string, number>();

  constructor(options: CoordinatorRowsOptions) {
    this.#options = options;
  }

  async rows(asked: AskedRows, signal?: AbortSignal): Promise<SystemRows> {
    const { clock } = this.#options;
    const { coordinator = "", after } = asked;
    try {
      const answer = await within(clock, answerMsMax, (late) => this.#ask(asked, late), signal);
      this.#silentSinceMs.delete(coordinator);
      return answer;
    } catch (thrown) {
      if (thrown instanceof OperatingError && thrown.retry === "never") throw thrown;
      const sinceMs = this.#silentSinceMs.get(coordinator) ?? clock.nowMs();
      this.#silentSinceMs.set(coordinator, sinceMs);
      if (after === undefined || clock.nowMs() - sinceMs >= unreachableMsMax) {
        this.#silentSinceMs.delete(coordinator);
        throw lost(coordinator, thrown);
      }
      await sleep(clock, pauseMs, signal);
      return { lines: "", at: after };
    }
  }

  close(): void {
    for (const session of this.#sessions.values()) session.destroy();
    this.#sessions.clear();
  }

  async #ask(asked: AskedRows, signal: AbortSignal): Promise<SystemRows> {
    const stream = this.#session(asked.coordinator ?? "").request({
      ...this.#options.headers,
      [constants.HTTP2_HEADER_METHOD]: "GET",
      [constants.HTTP2_HEADER_PATH]: streamsPath(asked),
    });
    let status = 0;
    stream.on("response", (head) => {
      status = Number(head[constants.HTTP2_HEADER_STATUS]);
    });
    const abort = (): void => void stream.destroy(new Error("it did not answer in time"));
    signal.addEventListener("abort", abort, { once: true });
    try {
      const parts: Uint8Array[] = [];
      for await (const part of stream) parts.push(part as Uint8Array);
      if (status !== 200 && status !== 503) throw new Error(`it answered with status ${status}`);
      const answer = JSON.parse(Buffer.concat(parts).toString()) as StreamsAnswer;
      if (!("error" in answer)) return answer;
      const { retry, message } = answer.error;
      throw new OperatingError("query_failed", retry, message);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #session(address: string): ClientHttp2Session {
    const known = this.#sessions.get(address);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = connect(address, { ...this.#options.tls });
    session.on("error", () => undefined); // Every stream of it is told.
    session.unref();
    this.#sessions.set(address, session);
    return session;
  }
}

function lost(address: string, thrown: unknown): OperatingError {
  const message = `the coordinator at ${address || "no address"} gives no rows: ${messageOf(thrown)}`;
  return new OperatingError("leader_unreachable", "backoff", message, { cause: thrown });
}
