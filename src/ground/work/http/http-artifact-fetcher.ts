/**
 * Fetches artifacts from workers into memory or to this process's disk, and verifies them. Rules:
 * QU2, QU52, QU53 and QU55. Room for a copy is reserved before the first byte is requested, and
 * nothing is evicted, because a copy is needed until its reader is done.
 */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as tlsRequest } from "node:https";
import { basename, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../kernel/clock.ts";
import { isDiskFull } from "../../kernel/disk-full.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { bearerOf } from "../../kernel/node/cluster-token.ts";
import type { TlsFiles } from "../../kernel/tls.ts";
import { type Artifact, type WorkKey, workLogFields } from "../core/assignment/index.ts";
import type { ArtifactFetcher, LocalArtifact } from "../core/index.ts";
import { checksumOfBytes } from "../fs/file-checksum.ts";
import { translateFsError } from "../fs/fs-error.ts";

export interface HttpFetcherOptions {
  readonly token: string;
  /** Belongs to this process alone. Copies of an earlier run are deleted. */
  readonly dir: string;
  /** A directory on another file system for small copies while the disk is full. */
  readonly overflowDir?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tls?: TlsFiles;
  /** The limit of all local copies. */
  readonly capacityBytes?: number;
  /** The limit of one artifact. */
  readonly artifactBytesMax?: number;
  /** A worker that sends no byte for this long counts as unreachable. */
  readonly silenceMsMax?: number;
  /** The limit of a whole fetch, for a worker that sends a byte now and then. */
  readonly fetchMsMax?: number;
}

export interface HttpArtifactFetcher extends ArtifactFetcher {
  usedBytes(): number;
  /** Ends idle connections and deletes the remaining copies. */
  close(): Promise<void>;
}

const capacityBytesDefault = 10 * 1024 ** 3;
const silenceMsMaxDefault = 5_000;
const fetchMsMaxDefault = 300_000;
const socketsPerWorkerMax = 32;
/** The limits of one copy, which this thread hashes in less than 1 ms, and of all together. */
const memoryBytesMax = { each: 1024 * 1024, all: 32 * 1024 * 1024 };
const copyPattern = /^fetched-\d+\.parquet$/;

export async function createHttpArtifactFetcher(
  options: HttpFetcherOptions,
): Promise<HttpArtifactFetcher> {
  const { dir } = options;
  await mkdir(dir, { recursive: true });
  for (const name of await readdir(dir)) {
    if (copyPattern.test(name)) await rm(join(dir, name), { force: true });
  }
  return new Fetcher(options);
}

class Fetcher implements HttpArtifactFetcher {
  readonly #options: HttpFetcherOptions;
  readonly #capacityBytes: number;
  readonly #artifactBytesMax: number;
  readonly #silenceMsMax: number;
  readonly #fetchMsMax: number;
  readonly #httpAgent: HttpAgent;
  readonly #httpsAgent: HttpsAgent;
  readonly #copies = new Set<Copy>();
  #usedBytes = 0;
  #memoryBytes = 0;
  #copyNext = 1;

  constructor(options: HttpFetcherOptions) {
    this.#options = options;
    this.#capacityBytes = options.capacityBytes ?? capacityBytesDefault;
    this.#artifactBytesMax = options.artifactBytesMax ?? this.#capacityBytes;
    this.#silenceMsMax = options.silenceMsMax ?? silenceMsMaxDefault;
    this.#fetchMsMax = options.fetchMsMax ?? fetchMsMaxDefault;
    const pooling = { keepAlive: true, maxSockets: socketsPerWorkerMax };
    this.#httpAgent = new HttpAgent(pooling);
    this.#httpsAgent = new HttpsAgent({ ...pooling, ...options.tls });
  }

  usedBytes(): number {
    return this.#usedBytes;
  }

  async fetch(
    _workerId: unknown,
    artifact: Artifact,
    signal: AbortSignal,
    key: WorkKey,
  ): Promise<LocalArtifact> {
    const url = parseArtifactUrl(artifact.url);
    const copy = this.#reserve(artifact, key);
    if (this.#takeContent(copy, artifact)) return copy;
    const tooSlow = new AbortController();
    const timer = this.#options.clock.after(this.#fetchMsMax, () => tooSlow.abort());
    try {
      await this.#fetchInto(copy, url, AbortSignal.any([signal, tooSlow.signal]));
      return copy;
    } catch (thrown) {
      await copy.dispose(); // QU52
      if (signal.aborted) throw new OperatingError("cancelled", "never", "the fetch was cancelled");
      if (tooSlow.signal.aborted) throw lost(`it took longer than ${this.#fetchMsMax} ms`);
      throw translateFetchError(thrown);
    } finally {
      timer.cancel();
    }
  }

  /** QU2. */
  async #fetchInto(copy: Copy, url: URL, signal: AbortSignal): Promise<void> {
    const { artifact } = copy;
    const response = await this.#get(url, signal, copy.key);
    checkResponse(response, artifact);
    const checksum = await this.#receive(response, copy, signal);
    if (checksum !== artifact.checksum) {
      throw corrupt(`its checksum is ${checksum} instead of ${artifact.checksum}`);
    }
  }

  /**
   * Copies the bytes that came with the report, because they are a part of a larger buffer. Returns
   * false when there are none, they are not the artifact's, or memory has no room for them: then
   * they are fetched (QU55).
   */
  #takeContent({ content: target }: Copy, { content, checksum }: Artifact): boolean {
    if (content === undefined || typeof target === "string") return false;
    if (content.length !== target.length || checksumOfBytes(content) !== checksum) return false;
    target.set(content);
    return true;
  }

  async close(): Promise<void> {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
    await Promise.all(Array.from(this.#copies, (copy) => copy.dispose()));
  }

  /** QU53. */
  #reserve(artifact: Artifact, key: WorkKey): Copy {
    const { sizeBytes } = artifact;
    if (sizeBytes > this.#artifactBytesMax) {
      const message = `an artifact of ${sizeBytes} bytes is larger than the ${this.#artifactBytesMax} that are fetched`;
      throw new OperatingError("disk_full", "never", message);
    }
    if (this.#usedBytes + sizeBytes > this.#capacityBytes) {
      const message = `${this.#usedBytes} of ${this.#capacityBytes} bytes for fetched artifacts are in use, and ${sizeBytes} more do not fit`;
      throw new OperatingError("disk_full", "backoff", message);
    }
    const { each, all } = memoryBytesMax;
    const memoryBytes =
      sizeBytes <= each && this.#memoryBytes + sizeBytes <= all ? sizeBytes : undefined;
    const path = join(this.#options.dir, `fetched-${this.#copyNext}.parquet`);
    this.#copyNext += 1;
    this.#usedBytes += sizeBytes;
    this.#memoryBytes += memoryBytes ?? 0;
    const content = memoryBytes === undefined ? path : new Uint8Array(memoryBytes);
    const write = (bytes: Uint8Array): Promise<string> => this.#write(path, bytes);
    const { content: _, ...described } = artifact;
    const copy = new Copy(content, described, key, write, () => {
      this.#usedBytes -= sizeBytes;
      this.#memoryBytes -= memoryBytes ?? 0;
      this.#copies.delete(copy);
    });
    this.#copies.add(copy);
    return copy;
  }

  /** The other side may just have closed a kept connection: then tries once more on a new one. */
  async #get(url: URL, signal: AbortSignal, key: WorkKey): Promise<IncomingMessage> {
    const first = this.#send(url, signal);
    try {
      return await responseOf(first);
    } catch (thrown) {
      const wasStale = first.reusedSocket && codeOf(thrown) === "ECONNRESET";
      if (!wasStale || signal.aborted) throw thrown;
      const fields = { ...workLogFields(key), host: url.host };
      this.#options.logger.debug(fields, "a kept connection was stale: asking anew");
      return await responseOf(this.#send(url, signal));
    }
  }

  #send(url: URL, signal: AbortSignal): ClientRequest {
    const options = {
      headers: { authorization: bearerOf(this.#options.token) },
      signal,
      timeout: this.#silenceMsMax,
    };
    const sent =
      url.protocol === "https:"
        ? tlsRequest(url, { ...options, agent: this.#httpsAgent })
        : request(url, { ...options, agent: this.#httpAgent });
    sent.on("timeout", () => {
      sent.destroy(lost(`the worker sent nothing for ${this.#silenceMsMax} ms`));
    });
    sent.end();
    return sent;
  }

  /** A small copy can be written even when the disk is full. */
  async #write(path: string, bytes: Uint8Array): Promise<string> {
    const { overflowDir } = this.#options;
    try {
      await writeFile(path, bytes, { flag: "wx" });
      return path;
    } catch (thrown) {
      await rm(path, { force: true });
      if (overflowDir === undefined || !isDiskFull(thrown)) throw translateFsError(thrown);
    }
    const elsewhere = join(overflowDir, basename(path));
    await writeFile(elsewhere, bytes, { flag: "wx" });
    return elsewhere;
  }

  /** Returns the checksum of what arrived. */
  async #receive(response: IncomingMessage, copy: Copy, signal: AbortSignal): Promise<string> {
    const { content } = copy;
    const { sizeBytes } = copy.artifact;
    if (typeof content !== "string") {
      checkSize(await fill(content, response), sizeBytes);
      return checksumOfBytes(content);
    }
    const meter = new Meter(sizeBytes);
    const file = createWriteStream(content, { flags: "wx", highWaterMark: memoryBytesMax.each });
    await pipeline(response, meter, file, { signal });
    checkSize(meter.sizeBytes, sizeBytes);
    return meter.checksum();
  }
}

class Copy implements LocalArtifact {
  readonly content: Uint8Array<ArrayBuffer> | string;
  readonly artifact: Artifact;
  readonly key: WorkKey;
  readonly #write: (bytes: Uint8Array) => Promise<string>;
  readonly #release: () => void;
  #file: Promise<string> | undefined;
  #disposed: Promise<void> | undefined;

  constructor(
    content: Uint8Array<ArrayBuffer> | string,
    artifact: Artifact,
    key: WorkKey,
    write: (bytes: Uint8Array) => Promise<string>,
    release: () => void,
  ) {
    this.content = content;
    this.artifact = artifact;
    this.key = key;
    this.#write = write;
    this.#release = release;
    if (typeof content === "string") this.#file = Promise.resolve(content);
  }

  file(): Promise<string> {
    this.#file ??= this.#write(this.content as Uint8Array);
    return this.#file;
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#delete().finally(this.#release);
    return this.#disposed;
  }

  async #delete(): Promise<void> {
    const path = await this.#file?.catch(() => undefined); // A failed write left nothing.
    if (path !== undefined) await rm(path, { force: true });
  }
}

/** Resolves with the length of the body, which may exceed `bytes`. */
function fill(bytes: Uint8Array, response: IncomingMessage): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    response.on("data", (chunk: Uint8Array) => {
      if (length + chunk.length <= bytes.length) bytes.set(chunk, length);
      length += chunk.length;
    });
    response.once("end", () => resolve(length));
    response.once("error", reject);
  });
}

/**
 * Passes on no more bytes than promised, and hashes them. A piece of 64 KiB takes 0.1 ms; the
 * thread can do other work between pieces.
 */
class Meter extends Transform {
  readonly #bytesMax: number;
  readonly #digest = createHash("sha256");
  sizeBytes = 0;

  constructor(bytesMax: number) {
    super();
    this.#bytesMax = bytesMax;
  }

  checksum(): string {
    return `sha256:${this.#digest.digest("hex")}`;
  }

  override _transform(
    chunk: Uint8Array,
    _encoding: string,
    done: (error: Error | null, chunk?: Uint8Array) => void,
  ): void {
    this.sizeBytes += chunk.length;
    if (this.sizeBytes > this.#bytesMax) {
      done(corrupt(`more than ${this.#bytesMax} bytes came`));
      return;
    }
    this.#digest.update(chunk);
    done(null, chunk);
  }
}

function parseArtifactUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOurs = url?.pathname.startsWith("/artifacts/") === true;
  if (url !== undefined && isOurs && /^https?:$/.test(url.protocol)) return url;
  throw lost(`${text} is not an artifact's address`);
}

function responseOf(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once("response", resolve);
    sent.on("error", reject);
  });
}

function checkResponse(response: IncomingMessage, { sizeBytes }: Artifact): void {
  const { statusCode } = response;
  if (statusCode !== 200) {
    response.resume(); // So that the connection can be reused.
    throw refusal(statusCode ?? 0);
  }
  const promised = Number(response.headers["content-length"] ?? Number.NaN);
  if (promised === sizeBytes) return;
  response.destroy();
  throw corrupt(`${promised} bytes are offered instead of ${sizeBytes}`);
}

function refusal(status: number): OperatingError {
  switch (status) {
    case 401:
      return new OperatingError("unauthenticated", "never", "the worker knows another token");
    case 403:
      return new OperatingError("forbidden", "never", "the worker refuses this process");
    case 404:
    case 410:
      return lost("the worker has it no more");
    default:
      return lost(`the worker answered ${status}`);
  }
}

function checkSize(arrivedBytes: number, sizeBytes: number): void {
  if (arrivedBytes !== sizeBytes) {
    throw corrupt(`${arrivedBytes} bytes came instead of ${sizeBytes}`);
  }
}

function translateFetchError(thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const translated = translateFsError(thrown);
  if (translated.code === "disk_full") return translated;
  return lost(`the worker cannot be reached: ${messageOf(thrown)}`, thrown);
}

function lost(message: string, cause?: unknown): OperatingError {
  return new OperatingError("artifact_lost", "backoff", message, { cause });
}

function corrupt(message: string): OperatingError {
  return new OperatingError("artifact_corrupt", "backoff", message);
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
}
