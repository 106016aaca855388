/**
 * Scrapes Capstan's own metrics into itself: those of this process and of every connected worker.
 * Uses OpenMetrics, because only that format has exemplars.
 */
import { get } from "node:http";
import { type Clock, repeat } from "../../../ground/kernel/clock.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { WorkerId } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { type Metrics, openMetricsContentType } from "../../../ground/observe/index.ts";
import type { ControllerNode } from "../../../ground/work/index.ts";
import type { Ingest, ScrapedText } from "../metrics/index.ts";

export interface SelfScrapeOptions {
  readonly node: ControllerNode;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clusterToken: string;
}

const job = "capstan";
const intervalMs = 5_000;
const silenceMsMax = 2_000;
const bodyBytesMax = 4 * 1024 ** 2;
/** Workers come and go. A known name stays a target, and is down while its worker is away. */
const workersMax = 1_000;

/** Returns the function that stops looking for new workers. */
export function scrapeSelf(
  ingest: Pick<Ingest, "addSelfTarget">,
  { node, metrics, clock, logger, clusterToken }: SelfScrapeOptions,
): () => void {
  const known = new Set<WorkerId>();
  const add = (instance: string, read: () => Promise<ScrapedText>): void => {
    ingest.addSelfTarget({ job, instance, intervalMs, read }).catch((thrown: unknown) => {
      logger.warn({ instance }, `not scraped: ${messageOf(thrown)}`);
    });
  };
  add(node.role, () => metrics.exposition(openMetricsContentType));
  const look = (): void => {
    for (const { workerId, live } of node.pool.views()) {
      if (workerId === undefined || live?.facts.metrics_url === undefined) continue;
      if (known.has(workerId) || known.size >= workersMax) continue;
      known.add(workerId);
      add(workerId, () => readWorker(node, workerId, clusterToken));
    }
  };
  look();
  const timer = repeat(clock, intervalMs / 5, look);
  return () => timer.cancel();
}

async function readWorker(
  { pool }: ControllerNode,
  workerId: WorkerId,
  clusterToken: string,
): Promise<ScrapedText> {
  const view = pool.views().find((each) => each.workerId === workerId);
  const url = view?.live?.facts.metrics_url;
  if (url === undefined) throw new Error("there is no session with it");
  return await readText(new URL(url), clusterToken);
}

function readText(url: URL, token: string): Promise<ScrapedText> {
  return new Promise((resolve, reject) => {
    const headers = { accept: openMetricsContentType, authorization: `Bearer ${token}` };
    const sent = get(url, { headers, timeout: silenceMsMax }, (response) => {
      const chunks: Uint8Array[] = [];
      let length = 0;
      response.on("data", (chunk: Uint8Array) => {
        length += chunk.length;
        if (length > bodyBytesMax) sent.destroy(new Error("it has too much to say"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode, headers: answered } = response;
        const contentType = answered["content-type"] ?? "";
        if (statusCode === 200) resolve({ contentType, text: Buffer.concat(chunks).toString() });
        else reject(new Error(`it answered ${statusCode}`));
      });
    });
    sent.on("timeout", () => sent.destroy(new Error("it does not answer")));
    sent.on("error", reject);
  });
}
