/**
 * Live figures to the coordinator, once a second, best effort: nobody waits for an answer, a post
 * that fails is counted and forgotten, and while one is under way no other is begun. What counts is
 * in the store; snapshots are cumulative, so that a lost one loses nothing.
 */

import { Agent, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as TlsAgent } from "node:https";
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { RunId } from "../core/ids.ts";
import type { LivePost } from "../core/worker-snapshot.ts";

export interface LivePosterOptions {
  readonly coordinatorUrl: string;
  readonly runId: RunId;
  readonly clusterToken: string;
  readonly clock: Clock;
}

const timeoutMs = 2_000;

export class LivePoster {
  readonly #options: LivePosterOptions;
  readonly #url: string;
  /** Not `fetch`, whose first call takes a quarter of a second of the load's own thread. */
  readonly #request: typeof requestHttp;
  readonly #agent: Agent;
  #isBusy = false;
  #sent = 0;
  #failed = 0;

  constructor(options: LivePosterOptions) {
    this.#options = options;
    const path = `api/runs/${encodeURIComponent(options.runId)}/metrics/live`;
    this.#url = `${options.coordinatorUrl.replace(/\/+$/, "")}/${path}`;
    const isTls = this.#url.startsWith("https:");
    this.#request = isTls ? requestHttps : requestHttp;
    this.#agent = isTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
  }

  get figures(): { readonly sent: number; readonly failed: number } {
    return { sent: this.#sent, failed: this.#failed };
  }

  post(body: LivePost): void {
    if (this.#isBusy) {
      this.#failed += 1;
      return;
    }
    this.#isBusy = true;
    void this.#send(JSON.stringify(body)).then((isOk) => {
      this.#isBusy = false;
      if (isOk) this.#sent += 1;
      else this.#failed += 1;
    });
  }

  async #send(body: string): Promise<boolean> {
    try {
      return await this.#answered(body);
    } catch {
      return false; // The address is invalid.
    }
  }

  async #answered(body: string): Promise<boolean> {
    const { clock, clusterToken } = this.#options;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const request = this.#request(this.#url, {
      method: "POST",
      agent: this.#agent,
      headers: {
        authorization: `Bearer ${clusterToken}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      },
    });
    const timer = clock.after(timeoutMs, () => request.destroy());
    request.on("response", (response) => {
      const { statusCode = 0 } = response;
      response.on("end", () => resolve(statusCode >= 200 && statusCode < 300));
      response.on("error", () => resolve(false));
      response.resume(); // So that the connection can be used again.
    });
    request.on("error", () => resolve(false));
    request.on("close", () => {
      timer.cancel();
      resolve(false); // Has no effect after an answer.
    });
    request.end(body);
    return await promise;
  }
}
