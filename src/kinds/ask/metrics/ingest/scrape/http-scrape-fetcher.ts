/** Scrapes over HTTP and HTTPS, with keep-alive, gzip, and redirects where the job allows them. */
import { readFile } from "node:fs/promises";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { ScrapeJob, SecretSource } from "../../core/ingest/scrape/scrape-config.ts";
import type { ScrapeFetcher } from "../../core/ingest/scrape/scrape-fetcher.ts";
import type { Target } from "../../core/ingest/scrape/target.ts";
import type { ScrapedBody } from "../../core/ingest/scrape/target-samples.ts";

const redirectsMax = 10;
/** Limit in bytes when the job sets none. */
const bodyBytesMax = 256 * 1024 * 1024;

const accept =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6," +
  "application/openmetrics-text;version=0.0.1;q=0.5," +
  "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

export class HttpScrapeFetcher implements ScrapeFetcher {
  /** The directory that relative file names of jobs refer to. */
  baseDir = ".";
  readonly #userAgent: string;
  readonly #httpAgent = new HttpAgent({ keepAlive: true, maxFreeSockets: 1 });
  /**
   * Agents with each job's certificates. A new configuration has new jobs, so these are read again.
   */
  readonly #httpsAgents = new WeakMap<ScrapeJob, Promise<HttpsAgent>>();
  readonly #allHttpsAgents = new Set<HttpsAgent>();

  constructor(userAgent: string) {
    this.#userAgent = userAgent;
  }

  async fetch(target: Target, signal: AbortSignal): Promise<ScrapedBody> {
    const { job } = target;
    const headers = await this.#headers(target);
    let url = new URL(target.url);
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#get(url, job, headers, signal);
      const { statusCode = 0, headers: answer } = response;
      const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
      if (!isRedirect || answer.location === undefined || !job.followRedirects) {
        return await readAnswer(response, job.limits.bodyBytes);
      }
      response.destroy();
      if (redirects >= redirectsMax) throw new Error(`stopped after ${redirectsMax} redirects`);
      const next = new URL(answer.location, url);
      // Secrets are sent to the first host only.
      if (next.host !== url.host) delete headers.authorization;
      url = next;
    }
  }

  close(): void {
    this.#httpAgent.destroy();
    for (const agent of this.#allHttpsAgents) agent.destroy();
  }

  async #headers({ job, timeoutMs }: Target): Promise<Record<string, string>> {
    const headers: Record<string, string> = {
      accept,
      "accept-encoding": job.compression ? "gzip" : "identity",
      "user-agent": this.#userAgent,
      "x-prometheus-scrape-timeout-seconds": String(timeoutMs / 1_000),
    };
    if (job.basicAuth !== undefined) {
      const username = await this.#secret(job.basicAuth.username);
      const password = await this.#secret(job.basicAuth.password);
      headers.authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
    } else if (job.authorization !== undefined) {
      const credentials = await this.#secret(job.authorization.credentials);
      headers.authorization = `${job.authorization.type} ${credentials}`;
    }
    return headers;
  }

  /** Read at each scrape, because tokens are renewed in place. */
  async #secret({ value, file }: SecretSource): Promise<string> {
    if (file === undefined) return value ?? "";
    return (await readFile(this.#path(file), "utf8")).trim();
  }

  async #get(
    url: URL,
    job: ScrapeJob,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const isTls = url.protocol === "https:";
    const agent = isTls ? await this.#httpsAgent(job) : this.#httpAgent;
    const request = isTls ? httpsRequest : httpRequest;
    return await new Promise((resolveResponse, reject) => {
      const sent = request(url, { agent, headers, signal }, resolveResponse);
      sent.on("error", reject);
      sent.end();
    });
  }

  #httpsAgent(job: ScrapeJob): Promise<HttpsAgent> {
    let agent = this.#httpsAgents.get(job);
    if (agent === undefined) {
      agent = this.#createHttpsAgent(job);
      this.#httpsAgents.set(job, agent);
      agent.catch(() => this.#httpsAgents.delete(job)); // A missing file may appear later.
    }
    return agent;
  }

  async #createHttpsAgent({ tls }: ScrapeJob): Promise<HttpsAgent> {
    const ca = tls.caFile === undefined ? tls.ca : await readFile(this.#path(tls.caFile));
    const cert = tls.certFile === undefined ? undefined : await readFile(this.#path(tls.certFile));
    const key = tls.keyFile === undefined ? undefined : await readFile(this.#path(tls.keyFile));
    const agent = new HttpsAgent({
      keepAlive: true,
      maxFreeSockets: 1,
      rejectUnauthorized: !tls.insecureSkipVerify,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    });
    this.#allHttpsAgents.add(agent);
    return agent;
  }

  #path(file: string): string {
    return resolve(this.baseDir, file);
  }
}

async function readAnswer(response: IncomingMessage, limitBytes: number): Promise<ScrapedBody> {
  const { statusCode = 0, statusMessage = "", headers } = response;
  if (statusCode !== 200) {
    response.destroy();
    throw new Error(`server returned HTTP status ${statusCode} ${statusMessage}`);
  }
  const isCompressed = headers["content-encoding"] === "gzip";
  const body = await readAll(response, isCompressed, limitBytes === 0 ? bodyBytesMax : limitBytes);
  return { body, contentType: headers["content-type"] ?? "" };
}

async function readAll(
  response: IncomingMessage,
  isCompressed: boolean,
  bytesMax: number,
): Promise<Uint8Array> {
  const gunzip = isCompressed ? createGunzip() : undefined;
  const stream: Readable = gunzip === undefined ? response : response.pipe(gunzip);
  // `pipe` does not forward errors.
  response.on("error", (error) => gunzip?.destroy(error));
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length >= bytesMax) throw new Error("body size limit exceeded");
      chunks.push(chunk);
    }
  } finally {
    if (!response.complete) response.destroy();
  }
  return Buffer.concat(chunks, length);
}
