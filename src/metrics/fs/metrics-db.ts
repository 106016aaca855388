/**
 * The head and its log: what one thread owns of a process's metrics. Appends go to the log and the head; by size or age
 * the head is sealed into segments of the lake, which `publish` makes visible.
 *
 *   D1  An append that resolved survives the process (and, with `sync: "always"`, the machine), and is in every snapshot
 *       taken afterwards. One that did not resolve may be there after a restart; it is never there in part.
 *   D2  A sealed generation leaves the log only after its segments were published, all in one transaction.
 *   D3  A snapshot's slices have what its appends had, for `retainMs` after they were sealed; later they are refused,
 *       never answered with less.
 *   D4  After a crash between publication and the log's deletion the catalog says what was published, and it is not
 *       replayed. Where the catalog no longer knows, samples are there twice, which readers merge.
 *   D5  Once the log cannot be written, nothing is acknowledged any more, and `failed` says why.
 *
 * One process at a time may open a directory; that is for the owner of the data directory to see to.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type Prng, randomText } from "../../kernel/prng.ts";
import type { Labels, Matcher } from "../../promql/core/index.ts";
import { isShardCount } from "../core/fingerprint.ts";
import { Head, type HeadLimits, headLimitsDefault, type SliceRequest } from "../core/head/head.ts";
import type { Generation } from "../core/head/series-entry.ts";
import { decodeWalRecord, encodeWalRecord } from "../core/head/wal-record.ts";
import type { HeadStats } from "../core/ingest-service.ts";
import type {
  AppendOutcome,
  Exemplar,
  HeadSnapshot,
  MetricMetadata,
  SampleBatch,
  SegmentInfo,
} from "../core/model.ts";
import { encodeRawSeries } from "../segments/raw-series-codec.ts";
import { prepareLake, syncDirectory, temporaryFolder } from "./lake.ts";
import { replayWal } from "./replay-wal.ts";
import { sealGeneration } from "./seal-generation.ts";
import { listWalFiles, type SyncPolicy, Wal } from "./wal.ts";

export interface MetricsDbOptions {
  /** For the log alone. */
  readonly walDir: string;
  readonly lakeDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /**
   * Makes segments visible, all or none. Called again with the same ones where it failed: what is published already is no
   * error then.
   */
  publish(add: readonly SegmentInfo[]): Promise<void>;
  /** The highest `sealSeq` among the segments that the catalog has of this lineage; 0 where it has none. D4 */
  publishedSealSeq?(lineage: string): Promise<number>;
  /** Where workers pull slices; may be set later, when the server listens. */
  readonly url?: string;
  readonly sync?: SyncPolicy;
  readonly limits?: Partial<HeadLimits>;
  readonly walFileBytesMax?: number;
  /** The head is sealed when it has so many samples, */
  readonly headSamplesMax?: number;
  /** or when its first ones came so long ago. */
  readonly headAgeMsMax?: number;
  /** Otherwise as many as this thread's heap can hold. */
  readonly seriesMax?: number;
  readonly blockMs?: number;
  /** Of every seal. `undefined`: by size. */
  readonly shardCount?: number | undefined;
  readonly samplesPerShard?: number;
  readonly shardCountMax?: number;
  readonly retainMs?: number;
  /** How often it looks whether to seal. */
  readonly tickMs?: number;
}

const defaults = {
  sync: "always" as SyncPolicy,
  walFileBytesMax: 64 * 1024 * 1024,
  headSamplesMax: 2_000_000,
  headAgeMsMax: 10 * 60_000,
  blockMs: 2 * 60 * 60_000,
  samplesPerShard: 250_000,
  shardCountMax: 16,
  retainMs: 2 * 60_000,
  tickMs: 1_000,
};
/** A series of seven labels takes 2.7 KB of the heap, half a KB more while it is sealed; slices need room, too. */
const heapBytesPerSeries = 6_144;
/** Where sealing does not keep up, appends are refused at so many times `headSamplesMax`. */
const overloadFactor = 4;
const sealRetryMsMin = 1_000;
const sealRetryMsMax = 60_000;

export interface DbSliceRequest extends SliceRequest {
  readonly snapshot: Pick<HeadSnapshot, "incarnation" | "appendSeq">;
}

export async function openMetricsDb(options: MetricsDbOptions): Promise<MetricsDb> {
  const seriesMax = Math.floor(getHeapStatistics().heap_size_limit / heapBytesPerSeries);
  const whole = { ...defaults, seriesMax, ...withoutUndefined(options) };
  if (whole.shardCount !== undefined && !isShardCount(whole.shardCount)) {
    throw new OperatingError("bad_request", "never", "the shard count must be a power of two");
  }
  await mkdir(options.walDir, { recursive: true });
  await prepareLake(options.lakeDir);
  const lineage = await readLineage(options.walDir, options.prng);
  await removeHalfSealed(options.lakeDir, lineage);
  const files = await listWalFiles(options.walDir);
  const published = (await options.publishedSealSeq?.(lineage)) ?? 0;
  // Everything that is replayed becomes one generation, newer than all of them.
  const newest = files.reduce((most, { generation }) => Math.max(most, generation), published);
  const head = new Head({ ...headLimitsDefault, ...options.limits }, newest + 1);
  const wal = new Wal({
    directory: options.walDir,
    clock: options.clock,
    sync: whole.sync,
    fileBytesMax: whole.walFileBytesMax,
    existing: files,
  });
  await wal.forget(published); // D4
  await replay(
    head,
    files.filter(({ generation }) => generation > published),
    options,
  );
  const db = new MetricsDb(whole, head, wal, lineage);
  db.start();
  return db;
}

type WholeOptions = MetricsDbOptions & typeof defaults & { readonly seriesMax: number };

async function replay(
  head: Head,
  files: Awaited<ReturnType<typeof listWalFiles>>,
  { clock, logger }: MetricsDbOptions,
): Promise<void> {
  const refs = new Map<number, Map<number, Labels>>();
  const startMs = clock.nowMs();
  const { records, tornBytes } = await replayWal(files, (payload, { generation }) => {
    const known = refs.get(generation) ?? new Map<number, Labels>();
    refs.set(generation, known);
    head.replay(decodeWalRecord(payload), known, startMs);
  });
  if (records === 0 && tornBytes === 0) return;
  const fields = { records, torn_bytes: tornBytes, samples: head.current.sampleCount };
  logger.info({ ...fields, ms: Math.round(clock.nowMs() - startMs) }, "replayed the metrics log");
}

export class MetricsDb {
  readonly incarnation: string;
  readonly lineage: string;
  /** Where workers pull slices. */
  url: string;
  /** Resolves, with the reason, when nothing can be acknowledged any more. D5 */
  readonly failed: Promise<OperatingError>;
  readonly #options: WholeOptions;
  readonly #head: Head;
  readonly #wal: Wal;
  readonly #timers = new Set<Timer>();
  #fail: (reason: OperatingError) => void = () => undefined;
  #seq = 0;
  #durableSeq = 0;
  /** Snapshots up to this one may miss what was dropped. */
  #goneSeq = -1;
  /** Frozen, and not published yet; its segments, once they are written. */
  #frozen: { readonly generation: Generation; segments: SegmentInfo[] | undefined } | undefined;
  #sealing: Promise<void> | undefined;
  #sealRetryMs = sealRetryMsMin;
  #sealNotBeforeMs = 0;
  #sealCount = 0;
  #longestSealMs = 0;
  #isClosed = false;

  constructor(options: WholeOptions, head: Head, wal: Wal, lineage: string) {
    this.#options = options;
    this.#head = head;
    this.#wal = wal;
    this.lineage = lineage;
    this.url = options.url ?? "";
    this.incarnation = randomText(options.prng, 16);
    this.failed = new Promise((resolve) => {
      this.#fail = resolve;
    });
  }

  start(): void {
    this.#after(this.#options.tickMs, () => this.#tick());
  }

  /** Resolves when everything that it counts as appended or duplicate is durable and visible. */
  async append(batch: SampleBatch): Promise<AppendOutcome> {
    this.#refuseOverload(batch.series);
    const { clock } = this.#options;
    this.#seq += 1;
    const seq = this.#seq;
    const appended = this.#head.append(batch, seq, clock.wallMs(), clock.nowMs());
    const { outcome, record } = appended;
    // A duplicate's first may be on its way to the disk still, so even an empty append waits its turn.
    const payload = record === undefined ? undefined : encodeWalRecord(record);
    await this.#commit(this.#head.current.number, payload, seq);
    return outcome;
  }

  snapshot(): HeadSnapshot {
    const appendSeq = this.#durableSeq;
    const generations = this.#head.visible(appendSeq).filter(({ sampleCount }) => sampleCount > 0);
    const chunkCount = generations.reduce((sum, { chunks }) => sum + chunks.length, 0);
    return {
      url: this.url,
      incarnation: this.incarnation,
      appendSeq,
      minTs: generations.reduce((least, { minTs }) => Math.min(least, minTs), Infinity),
      maxTs: generations.reduce((most, { maxTs }) => Math.max(most, maxTs), -Infinity),
      sampleCount: generations.reduce((sum, { sampleCount }) => sum + sampleCount, 0),
      seriesCount: Math.min(chunkCount, this.#head.seriesCount),
    };
  }

  /** The series that match, as `encodeRawSeries` writes them. Refuses a snapshot that is not of this head, or too old. */
  slice(request: DbSliceRequest): Uint8Array {
    const { incarnation, appendSeq } = request.snapshot;
    if (incarnation !== this.incarnation) throw headMoved("the head has another owner by now");
    if (appendSeq <= this.#goneSeq || appendSeq > this.#durableSeq) {
      throw headMoved("the head has moved on since that snapshot"); // D3
    }
    return encodeRawSeries([...this.#head.slice(request, appendSeq)]);
  }

  /** Everything that was appended so far becomes segments, now. */
  async seal(): Promise<void> {
    // One that is under way may have frozen before the appends that are meant.
    await this.#sealing?.catch(() => undefined);
    if (this.#isClosed) throw new OperatingError("shutting_down", "never", "the head is closed");
    await this.#startSeal();
  }

  metadata(metric: string | undefined): readonly MetricMetadata[] {
    return this.#head.metadata(metric);
  }

  exemplars(
    matcherSets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
  ): readonly Exemplar[] {
    return this.#head.exemplars(matcherSets, startMs, endMs);
  }

  stats(): HeadStats & { readonly sealCount: number; readonly longestSealMs: number } {
    const { seriesCount, sampleCount, minTs, maxTs, appendSeq } = this.snapshot();
    return {
      seriesCount,
      sampleCount,
      minTs,
      maxTs,
      walBytes: this.#wal.bytes,
      sealSeq: this.#head.current.number,
      appendSeq,
      sealCount: this.#sealCount,
      longestSealMs: this.#longestSealMs,
    };
  }

  /** What was given is written; nothing is sealed: the log has it. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    await this.#sealing?.catch(() => undefined);
    await this.#wal.close();
  }

  async #commit(generation: number, payload: Uint8Array | undefined, seq: number): Promise<void> {
    try {
      await this.#wal.append(generation, payload);
    } catch (thrown) {
      if (this.#wal.failure !== undefined) this.#fail(this.#wal.failure); // D5
      throw thrown;
    }
    this.#durableSeq = Math.max(this.#durableSeq, seq);
  }

  #refuseOverload(series: readonly Labels[]): void {
    const { headSamplesMax, seriesMax } = this.#options;
    if (this.#isClosed) throw new OperatingError("shutting_down", "never", "the head is closed");
    if (this.#head.current.sampleCount > headSamplesMax * overloadFactor) {
      const message = "the head is full: sealing does not keep up";
      throw new OperatingError("overloaded", "backoff", message);
    }
    const room = seriesMax - this.#head.seriesCount;
    if (series.length > room && this.#head.countUnknown(series) > Math.max(room, 0)) {
      const message = `the head has no room for more than ${seriesMax} series`;
      throw new OperatingError("overloaded", "backoff", message);
    }
  }

  #tick(): void {
    if (this.#isClosed) return;
    if (this.#isSealDue()) this.#startSeal().catch(() => undefined); // Logged there.
    this.#after(this.#options.tickMs, () => this.#tick());
  }

  #isSealDue(): boolean {
    const nowMs = this.#options.clock.nowMs();
    if (this.#sealing !== undefined || nowMs < this.#sealNotBeforeMs) return false;
    if (this.#frozen !== undefined) return true;
    const { sampleCount, firstAppendMs } = this.#head.current;
    if (firstAppendMs === undefined) return false;
    const { headSamplesMax, headAgeMsMax } = this.#options;
    return sampleCount >= headSamplesMax || nowMs - firstAppendMs >= headAgeMsMax;
  }

  #startSeal(): Promise<void> {
    this.#sealing ??= this.#sealAll().finally(() => {
      this.#sealing = undefined;
    });
    return this.#sealing;
  }

  async #sealAll(): Promise<void> {
    const { clock, logger } = this.#options;
    const startMs = clock.nowMs();
    try {
      if (this.#frozen !== undefined) await this.#finishSeal();
      if (this.#head.current.sampleCount === 0) return;
      await this.#freeze();
      await this.#finishSeal();
      this.#sealRetryMs = sealRetryMsMin;
    } catch (thrown) {
      this.#sealNotBeforeMs = clock.nowMs() + this.#sealRetryMs;
      this.#sealRetryMs = Math.min(this.#sealRetryMs * 2, sealRetryMsMax);
      logger.warn({ error: messageOf(thrown) }, "sealing the head failed; its log keeps it");
      throw thrown;
    } finally {
      this.#longestSealMs = Math.max(this.#longestSealMs, clock.nowMs() - startMs);
    }
  }

  /** From here on appends go to the next generation, whose log begins with what outlives generations. */
  async #freeze(): Promise<void> {
    const { frozen, preamble } = this.#head.freeze(this.#seq);
    this.#frozen = { generation: frozen, segments: undefined };
    await this.#commit(this.#head.current.number, encodeWalRecord(preamble), 0);
  }

  async #finishSeal(): Promise<void> {
    const frozen = this.#frozen;
    if (frozen === undefined) return;
    const { generation } = frozen;
    const { lineage } = this;
    const { shardCount } = this.#options;
    frozen.segments ??= await sealGeneration(generation, { ...this.#options, shardCount, lineage });
    await this.#options.publish(frozen.segments);
    this.#frozen = undefined;
    this.#sealCount += 1;
    // A number of its own, so that snapshots of before and after differ even where nothing is appended.
    this.#seq += 1;
    const seq = this.#seq;
    this.#head.markPublished(generation, seq - 1);
    await this.#commit(this.#head.current.number, undefined, seq);
    this.#after(this.#options.retainMs, () => this.#drop(generation));
    await this.#wal.forget(generation.number); // D2
  }

  #drop(generation: Generation): void {
    this.#goneSeq = Math.max(this.#goneSeq, generation.publishedAtSeq);
    this.#head.drop(generation);
  }

  #after(delayMs: number, fire: () => void): void {
    const timer = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      fire();
    });
    this.#timers.add(timer);
  }
}

/** The name of this log's line of heads, made when the directory is first used. */
async function readLineage(walDir: string, prng: Prng): Promise<string> {
  const path = join(walDir, "lineage");
  const found = await readFile(path, "utf8").catch(() => undefined);
  if (found !== undefined && /^[a-z0-9]{12}$/.test(found)) return found;
  const lineage = randomText(prng, 12);
  await writeFile(`${path}.new`, lineage, { flush: true });
  await rename(`${path}.new`, path);
  await syncDirectory(walDir);
  return lineage;
}

/** What this line of heads was writing when it died. */
async function removeHalfSealed(lakeDir: string, lineage: string): Promise<void> {
  for (const id of await readdir(join(lakeDir, temporaryFolder))) {
    if (!id.startsWith(`${lineage}-`)) continue;
    await rm(join(lakeDir, temporaryFolder, id), { recursive: true, force: true });
  }
}

function headMoved(message: string): OperatingError {
  return new OperatingError("head_moved", "never", message);
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as T;
}
