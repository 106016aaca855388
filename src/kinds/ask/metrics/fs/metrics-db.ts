/**
 * The head and its log, owned by one thread. Appends go to the log and the head; by size or age the
 * head is sealed into segments of the lake, which `publish` makes visible. Rules: MH3 to MH21.
 *
 * An append that did not resolve may be there after a restart, but never in part. A sealed
 * generation leaves the log only after all of its segments were published in one transaction. After
 * a crash in between, the catalog says what was published, and it is not replayed. If the catalog
 * no longer knows, samples exist twice, and readers merge them.
 */

import "../core/error-codes.ts";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { backoffMs } from "../../../../ground/kernel/backoff.ts";
import type { Clock, Timer } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import { makeDurableDirectory } from "../../../../ground/kernel/make-durable-directory.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../../ground/kernel/prng.ts";
import type { Labels, Matcher, RawSeries } from "../../promql/core/index.ts";
import { isShardCount } from "../core/fingerprint.ts";
import {
  Head,
  type HeadLimits,
  headLimitsDefault,
  type LabelsRequest,
  type SliceRequest,
} from "../core/head/head.ts";
import type { Generation } from "../core/head/series-entry.ts";
import { encodeWalRecord } from "../core/head/wal-record.ts";
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
import { prepareLake, temporaryFolder } from "./lake.ts";
import { readLineage, writeLineage } from "./lineage.ts";
import type { ListedFile, LogList } from "./log-list.ts";
import { damagedLog, findLog, type LogRead, readLog, tryDecode } from "./read-log.ts";
import { sealGeneration } from "./seal-generation.ts";
import {
  createLogGate,
  dropEmptyList,
  type LogLease,
  makeSafe,
  noLease,
  raiseFence,
  removeUnlisted,
  writeLogList,
} from "./take-log.ts";
import { type Log, type SyncPolicy, Wal, type WalOptions } from "./wal.ts";
import { frameBytes } from "./wal-frames.ts";

export interface MetricsDbOptions {
  readonly files?: Files;
  readonly openLog?: (options: WalOptions) => Log;
  /** Called when appends begin to be refused for want of space, and when they no longer are. */
  readonly onRoom?: (refusal: OperatingError | undefined) => void;
  /** The lease that owns the log. Without one, nobody else may use the log. */
  readonly lease?: LogLease;
  /** A directory for the log alone. */
  readonly walDir: string;
  readonly lakeDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /** Makes segments visible, all or none. Repeated after a failure, with the same segments. */
  publish(add: readonly SegmentInfo[]): Promise<void>;
  /** The highest `sealSeq` of this lineage's segments in the catalog, or 0. */
  publishedSealSeq?(lineage: string): Promise<number>;
  /** The URL where workers fetch slices; may be set later, when the server listens. */
  readonly url?: string;
  readonly sync?: SyncPolicy;
  readonly limits?: Partial<HeadLimits>;
  readonly walFileBytesMax?: number;
  /** The head is sealed when it has this many samples. */
  readonly headSamplesMax?: number;
  /** The head is sealed when its first samples are this old. */
  readonly headAgeMsMax?: number;
  /** Defaults to what this thread's heap can hold. */
  readonly seriesMax?: number;
  readonly blockMs?: number;
  /** The shard count of every seal. Chosen by size when undefined. */
  readonly shardCount?: number | undefined;
  readonly samplesPerShard?: number;
  readonly shardCountMax?: number;
  readonly retainMs?: number;
  /** How often to check whether a seal is due. */
  readonly tickMs?: number;
}

const defaults = {
  files: realFiles,
  openLog: (options: WalOptions): Log => new Wal(options),
  lease: noLease,
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
/**
 * A series of seven labels takes 2.7 KB of heap, 0.5 KB more while sealed; slices need room, too.
 */
const heapBytesPerSeries = 6_144;
/** When sealing does not keep up, appends are refused at this many times `headSamplesMax`. */
const overloadFactor = 4;
/** More than a series can weigh: `series_label_bytes` or a scrape's limits bound its labels. */
const batchRoomRatio = 2_048;
const sealRetry = { minMs: 1_000, maxMs: 60_000 };

export interface DbSliceRequest extends SliceRequest {
  readonly snapshot: Pick<HeadSnapshot, "incarnation" | "appendSeq">;
}

export interface DbLabelsRequest extends LabelsRequest {
  readonly snapshot: Pick<HeadSnapshot, "incarnation" | "appendSeq">;
}

export async function openMetricsDb(options: MetricsDbOptions): Promise<MetricsDb> {
  const seriesMax = Math.floor(getHeapStatistics().heap_size_limit / heapBytesPerSeries);
  const whole = { ...defaults, seriesMax, ...withoutUndefined(options) };
  if (whole.shardCount !== undefined && !isShardCount(whole.shardCount)) {
    throw new OperatingError("bad_request", "never", "the shard count must be a power of two");
  }
  const disk = whole.files;
  await makeDurableDirectory(disk, options.walDir);
  await prepareLake(options.lakeDir, disk);
  const { walDir } = options;
  const { lease } = whole;
  const term = await raiseFence(disk, walDir, lease);
  try {
    return await openAt(whole, term);
  } catch (thrown) {
    await dropEmptyList(disk, walDir, term);
    throw thrown;
  }
}

async function openAt(options: WholeOptions, term: number): Promise<MetricsDb> {
  const { files: disk, walDir, lease } = options;
  const found = await findLog(disk, walDir, term);
  const lineage = await chooseLineage(found.lineage, options);
  await removeHalfSealed(disk, options.lakeDir, lineage);
  const published = (await options.publishedSealSeq?.(lineage)) ?? 0;
  // Published generations are not replayed.
  const log = await readLog(disk, walDir, found, ({ generation }) => generation > published);
  // Everything that is replayed becomes one generation, newer than all of them.
  const newest = found.files.reduce((most, file) => Math.max(most, file.generation), published);
  const head = new Head({ ...headLimitsDefault, ...options.limits }, newest + 1);
  replay(head, log, options);
  await makeSafe(disk, walDir, log);
  const existing = log.files.map(({ file, bytes }) => ({ ...file, bytes }));
  const listOf = (files: readonly ListedFile[]): LogList => ({ term, lineage, files });
  await writeLogList(disk, walDir, listOf(existing));
  await noteListed(disk, walDir, lineage);
  await removeUnlisted(disk, walDir, listOf(existing));
  const wal = options.openLog({
    files: disk,
    directory: walDir,
    clock: options.clock,
    sync: options.sync,
    fileBytesMax: options.walFileBytesMax,
    term,
    lineage,
    existing,
    writeList: (files) => writeLogList(disk, walDir, listOf(files)),
    confirm: createLogGate({ files: disk, directory: walDir, term, lease, clock: options.clock }),
    ...(options.onRoom === undefined ? {} : { onRoom: options.onRoom }),
  });
  const db = new MetricsDb(options, head, wal, lineage);
  db.start();
  return db;
}

type WholeOptions = MetricsDbOptions & typeof defaults & { readonly seriesMax: number };

/** Throws `store_corrupt`, which names everything that cannot be read. */
function replay(head: Head, log: LogRead, { clock, logger }: WholeOptions): void {
  const refs = new Map<number, Map<number, Labels>>();
  const startMs = clock.nowMs();
  const damage = [...log.damage];
  let recordCount = 0;
  for (const { file, place, records, bytes, tornBytes } of log.files) {
    const known = refs.get(file.generation) ?? new Map<number, Labels>();
    refs.set(file.generation, known);
    for (const { at, payload } of records) {
      const record = tryDecode(payload);
      if (record === undefined) {
        const bad = { from: at, to: at + frameBytes + payload.length };
        damage.push({ file: file.name, what: "damaged", bytes: bad, place });
        continue;
      }
      const strayCount = head.replay(record, known, startMs);
      recordCount += 1;
      if (strayCount === 0 || file.hasGap || damage.length > 0) continue;
      damage.push({ file: file.name, what: "uses undefined series", place });
    }
    if (tornBytes > 0) {
      const fields = { file: file.name, byte: bytes, torn_bytes: tornBytes };
      logger.warn(fields, "the metrics log ends in a record that was never acknowledged");
    }
  }
  if (damage.length > 0) throw damagedLog({ files: log.files, damage });
  if (recordCount === 0) return;
  const fields = { records: recordCount, samples: head.current.sampleCount };
  logger.info({ ...fields, ms: Math.round(clock.nowMs() - startMs) }, "replayed the metrics log");
}

export class MetricsDb {
  readonly incarnation: string;
  readonly lineage: string;
  /** The URL where workers fetch slices. */
  url: string;
  /** Resolves, with the reason, when nothing can be acknowledged any more. */
  readonly failed: Promise<OperatingError>;
  readonly #options: WholeOptions;
  readonly #head: Head;
  readonly #wal: Log;
  readonly #timers = new Set<Timer>();
  #fail: (reason: OperatingError) => void = () => undefined;
  #seq = 0;
  #durableSeq = 0;
  /** Snapshots up to this number may lack samples that were dropped. */
  #goneSeq = -1;
  /** The frozen generation that is not published yet, with its segments once they are written. */
  #frozen: { readonly generation: Generation; segments: SegmentInfo[] | undefined } | undefined;
  #sealing: Promise<void> | undefined;
  #sealFailures = 0;
  #sealNotBeforeMs = 0;
  #sealCount = 0;
  #longestSealMs = 0;
  #isClosed = false;

  constructor(options: WholeOptions, head: Head, wal: Log, lineage: string) {
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

  /** Resolves when all samples that it counts as appended or duplicate are durable and visible. */
  async append(batch: SampleBatch): Promise<AppendOutcome> {
    this.#refuseOverload(batch.series);
    const { clock } = this.#options;
    this.#seq += 1;
    const seq = this.#seq;
    const appended = this.#head.append(batch, seq, clock.wallMs(), clock.nowMs());
    const { outcome, record } = appended;
    // Even an empty append waits its turn: the first of a duplicate may not be on the disk yet.
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

  /** The matching series, encoded. Refuses a snapshot of another head, or an old one. */
  slice(request: DbSliceRequest): Uint8Array {
    this.#checkSnapshot(request.snapshot);
    return encodeRawSeries([...this.#head.slice(request, request.snapshot.appendSeq)]);
  }

  /** Like `slice`, with one sample of each series. Yields between turns, so that appends run. */
  *labels(request: DbLabelsRequest): Generator<void, Uint8Array> {
    this.#checkSnapshot(request.snapshot);
    const found: RawSeries[] = [];
    for (const series of this.#head.labels(request, request.snapshot.appendSeq)) {
      if (series === undefined) yield;
      else found.push(series);
    }
    // Checked again: generations may have been dropped between the turns.
    this.#checkSnapshot(request.snapshot);
    return encodeRawSeries(found);
  }

  #checkSnapshot({ incarnation, appendSeq }: DbSliceRequest["snapshot"]): void {
    if (incarnation !== this.incarnation) throw headMoved("the head has another owner by now");
    if (appendSeq <= this.#goneSeq || appendSeq > this.#durableSeq) {
      throw headMoved("the head has moved on since that snapshot");
    }
  }

  /** Turns everything that was appended so far into segments now. */
  async seal(): Promise<void> {
    // A running seal may have frozen the head before these appends.
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

  /** Writes pending appends. Does not seal, because the log has everything. Idempotent. */
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
      if (this.#wal.failure !== undefined) this.#fail(this.#wal.failure);
      throw thrown;
    }
    this.#durableSeq = Math.max(this.#durableSeq, seq);
  }

  #refuseOverload(series: readonly Labels[]): void {
    const { headSamplesMax, seriesMax } = this.#options;
    if (this.#isClosed) throw new OperatingError("shutting_down", "never", "the head is closed");
    this.#refuseWithoutRoom();
    if (this.#head.current.weight > headSamplesMax * overloadFactor) {
      const message = "the head is full: sealing does not keep up";
      throw new OperatingError("overloaded", "backoff", message);
    }
    const room = Math.max(seriesMax - this.#head.seriesWeight, 0);
    // A batch far smaller than the room left need not be weighed.
    if (series.length > room / batchRoomRatio && this.#head.weighUnknown(series) > room) {
      const message = `the head has no room for more than ${seriesMax} series, or fewer with long labels`;
      throw new OperatingError("overloaded", "backoff", message);
    }
  }

  /** Refuses before the head takes samples that its log cannot. */
  #refuseWithoutRoom(): void {
    const { failure, refusal } = this.#wal;
    // The log may have failed while it waited for room.
    if (failure !== undefined) this.#fail(failure);
    const reason = failure ?? refusal;
    if (reason !== undefined) throw reason;
  }

  #tick(): void {
    if (this.#isClosed) return;
    // The seal logs its own failure.
    if (this.#isSealDue()) this.#startSeal().catch(() => undefined);
    this.#after(this.#options.tickMs, () => this.#tick());
  }

  #isSealDue(): boolean {
    const nowMs = this.#options.clock.nowMs();
    if (this.#sealing !== undefined || nowMs < this.#sealNotBeforeMs) return false;
    if (this.#frozen !== undefined) return true;
    const { weight, firstAppendMs } = this.#head.current;
    if (firstAppendMs === undefined) return false;
    const { headSamplesMax, headAgeMsMax } = this.#options;
    return weight >= headSamplesMax || nowMs - firstAppendMs >= headAgeMsMax;
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
      this.#sealFailures = 0;
    } catch (thrown) {
      this.#sealFailures += 1;
      this.#sealNotBeforeMs = clock.nowMs() + backoffMs(sealRetry, this.#sealFailures);
      logger.warn({ error: messageOf(thrown) }, "sealing the head failed; its log keeps it");
      throw thrown;
    } finally {
      this.#longestSealMs = Math.max(this.#longestSealMs, clock.nowMs() - startMs);
    }
  }

  /** Directs appends to the next generation, whose log begins with metadata and exemplars. */
  async #freeze(): Promise<void> {
    this.#refuseWithoutRoom();
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
    // Takes a number, so that snapshots before and after differ even without an append.
    this.#seq += 1;
    const seq = this.#seq;
    this.#head.markPublished(generation, seq - 1);
    // Sealed samples are visible and leave the log, which may free the space that the log waits
    // for.
    if (this.#wal.refusal !== undefined) this.#durableSeq = Math.max(this.#durableSeq, seq);
    else await this.#commit(this.#head.current.number, undefined, seq);
    this.#after(this.#options.retainMs, () => this.#drop(generation));
    await this.#wal.forget(generation.number); // Only after the publication.
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

/** The list's lineage wins, because the list has a checksum. */
async function chooseLineage(
  listed: string | undefined,
  { files, walDir, prng, logger }: WholeOptions,
): Promise<string> {
  const found = (await readLineage(files, walDir))?.name;
  if (listed !== undefined && listed !== found) {
    const message = "the file `lineage` of the metrics log is damaged; the list counts";
    logger.warn({ found, listed }, message);
  }
  if (listed !== undefined) return listed;
  if (found !== undefined) return found;
  const name = randomText(prng, 12);
  await writeLineage(files, walDir, { name, isListed: false });
  return name;
}

/** Called after the first list was written, or when the file was damaged. */
async function noteListed(disk: Files, walDir: string, name: string): Promise<void> {
  const found = await readLineage(disk, walDir);
  if (found?.name === name && found.isListed) return;
  await writeLineage(disk, walDir, { name, isListed: true });
}

/** Removes the segments that this line of heads was writing when it died. */
async function removeHalfSealed(disk: Files, lakeDir: string, lineage: string): Promise<void> {
  for (const { name } of await disk.list(join(lakeDir, temporaryFolder))) {
    if (name.startsWith(`${lineage}-`)) await disk.removeAll(join(lakeDir, temporaryFolder, name));
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
