/**
 * The catalog of segments in the control store. Every change happens here, under the coordinator's
 * lease, in one transaction. Rules: MC1 to MC8.
 */

import { type Kysely, type Selectable, sql } from "kysely";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { LeaseGrant, Store, Tx } from "../../../../ground/store/index.ts";
import type { AgedSegment } from "../core/decide-upkeep.ts";
import type { SegmentChecksums, SegmentInfo } from "../core/model.ts";
import type { MetricSegmentsTable } from "../core/tables.ts";
import { type MaintenanceClaim, requireClaim } from "./maintenance-claims.ts";

export interface Publication {
  /** With `seq` 0: the catalog assigns the next one. */
  readonly add: readonly SegmentInfo[];
  /** The ids of the replaced segments. */
  readonly remove: readonly string[];
}

export interface ScrubbedSegment {
  readonly info: SegmentInfo;
  readonly checkedAtMs: number | undefined;
  readonly damage: string | undefined;
}

export interface SegmentScrub {
  readonly segmentId: string;
  /** The checksums of a segment that had none. */
  readonly checksums: SegmentChecksums | undefined;
  /** Undefined when the segment is sound. */
  readonly damage: string | undefined;
}

export interface HeadOwner {
  readonly url: string;
  readonly incarnation: string;
}

export interface SegmentCatalogOptions {
  readonly store: Store;
}

type SegmentRow = Selectable<MetricSegmentsTable>;

/** A row has 16 parameters; SQLite allows 32,766 in a statement. */
const rowsPerStatement = 500;

export class SegmentCatalog {
  readonly #store: Store;
  #copy: { readonly version: number; readonly segments: readonly SegmentInfo[] } | undefined;

  constructor(options: SegmentCatalogOptions) {
    this.#store = options.store;
  }

  /** The visible segments with samples between the two times, inclusive, by `seq`. */
  async list(
    range: { readonly minTs?: number; readonly maxTs?: number } = {},
  ): Promise<readonly SegmentInfo[]> {
    const { minTs = -Infinity, maxTs = Infinity } = range;
    const known = this.#copy;
    const copy = await this.#store.read(async (tx) => {
      const version = await readVersion(tx);
      if (known !== undefined && known.version === version) return known;
      return { version, segments: (await selectVisible(tx)).map(infoOf) };
    });
    this.#copy = copy;
    return copy.segments.filter((info) => info.maxTs >= minTs && info.minTs <= maxTs);
  }

  /** The visible segments, each with the time since its publication. */
  async listAged(): Promise<readonly AgedSegment[]> {
    return await this.#store.read(async ({ db }) => {
      const rows = await db
        .selectFrom("metric_segments")
        .selectAll()
        .select(sql<number>`now_ms() - created_at_ms`.as("age_ms"))
        .where("removed_at_ms", "is", null)
        .orderBy("segment_id")
        .execute();
      return rows.map((row) => ({ info: infoOf(row), ageMs: row.age_ms }));
    });
  }

  /** Returns the added segments with their `seq`. With `claim`, only while that is still held. */
  async publish(
    { add, remove }: Publication,
    lease: LeaseGrant,
    claim?: MaintenanceClaim,
  ): Promise<readonly SegmentInfo[]> {
    if (add.length + remove.length === 0) return [];
    return await this.#store.catalogTransaction(async (tx) => {
      if (claim !== undefined) await requireClaim(tx, claim);
      const known = await selectByIds(
        tx,
        add.map(({ segmentId }) => segmentId),
      );
      const fresh = add.filter(({ segmentId }) => !known.has(segmentId));
      if (fresh.length === 0 && add.length > 0) {
        // A repeated publication changes nothing.
        return add.map(({ segmentId }) => infoOf(known.get(segmentId) as SegmentRow));
      }
      await removeVisible(tx, remove);
      const seq = await takeSeq(tx);
      const numbered = fresh.map((info) => (info.seq === 0 ? { ...info, seq } : info));
      await insertSegments(tx, numbered, await tx.nowMs());
      return numbered;
    }, lease);
  }

  /** Segments removed at least this long ago: delete their files, then `forget` their rows. */
  async sweepable(olderThanMs: number): Promise<readonly SegmentInfo[]> {
    return await this.#store.read(async ({ db }) => {
      const rows = await db
        .selectFrom("metric_segments")
        .selectAll()
        .where("removed_at_ms", "<=", sql<number>`now_ms() - ${olderThanMs}`)
        .orderBy("segment_id")
        .execute();
      return rows.map(infoOf);
    });
  }

  /** The visible segments, when their files were last read whole, and the result. */
  async listScrubbed(): Promise<{
    readonly nowMs: number;
    readonly segments: readonly ScrubbedSegment[];
  }> {
    return await this.#store.read(async (tx) => ({
      nowMs: await readNow(tx),
      segments: (await selectVisible(tx)).map((row) => ({
        info: infoOf(row),
        checkedAtMs: row.checked_at_ms ?? undefined,
        damage: row.damage ?? undefined,
      })),
    }));
  }

  /** Gives checksums to segments that have none; readers then get a new list. */
  async keepScrubbed(found: readonly SegmentScrub[], lease: LeaseGrant): Promise<void> {
    if (found.length === 0) return;
    await this.#store.catalogTransaction(async ({ db }) => {
      for (const { segmentId, checksums, damage } of found) {
        await db
          .updateTable("metric_segments")
          .set({ checked_at_ms: sql<number>`now_ms()`, damage: damage ?? null })
          .where("segment_id", "=", segmentId)
          .execute();
        if (checksums === undefined) continue;
        await db
          .updateTable("metric_segments")
          .set({ checksums: JSON.stringify(checksums) })
          .where("segment_id", "=", segmentId)
          .where("checksums", "is", null)
          .execute();
      }
      if (!found.some(({ checksums }) => checksums !== undefined)) return;
      await sql`UPDATE metric_catalog SET version = version + 1 WHERE id = 1`.execute(db);
    }, lease);
  }

  /** Deletes rows of removed segments whose files are gone. Visible ones are left alone. */
  async forget(segmentIds: readonly string[], lease: LeaseGrant): Promise<void> {
    if (segmentIds.length === 0) return;
    await this.#store.catalogTransaction(async ({ db }) => {
      for (const ids of chunksOf(segmentIds)) {
        await db
          .deleteFrom("metric_segments")
          .where("segment_id", "in", ids)
          .where("removed_at_ms", "is not", null)
          .execute();
      }
    }, lease);
  }

  /** The ids of all rows, visible or not: files of other segments are orphans. */
  async knownIds(): Promise<ReadonlySet<string>> {
    return await this.#store.read(async ({ db }) => {
      const rows = await db.selectFrom("metric_segments").select("segment_id").execute();
      return new Set(rows.map(({ segment_id }) => segment_id));
    });
  }

  /** The newest published generation of a lineage, among the segments still known; otherwise 0. */
  async publishedSealSeq(lineage: string): Promise<number> {
    return await this.#store.read(async ({ db }) => {
      const found = await db
        .selectFrom("metric_segments")
        .select(({ fn }) => fn.max<number | null>("seal_seq").as("seal_seq"))
        .where("segment_id", "like", `${lineage}-%`)
        .executeTakeFirst();
      return found?.seal_seq ?? 0;
    });
  }

  async setHead({ url, incarnation }: HeadOwner, lease: LeaseGrant): Promise<void> {
    await this.#store.catalogTransaction(async ({ db }) => {
      await sql`
        INSERT INTO metrics_head (id, url, incarnation, lease_epoch)
        VALUES (1, ${url}, ${incarnation}, ${lease.epoch})
            ON CONFLICT (id) DO UPDATE
           SET url = excluded.url,
               incarnation = excluded.incarnation,
               lease_epoch = excluded.lease_epoch`.execute(db);
    }, lease);
  }

  /** The process that takes samples in, or did last; undefined when there never was one. */
  async head(): Promise<HeadOwner | undefined> {
    return await this.#store.read(({ db }) =>
      db.selectFrom("metrics_head").select(["url", "incarnation"]).executeTakeFirst(),
    );
  }
}

/** The segments that queries see, at the transaction's moment. */
export async function visibleSegments(tx: Tx): Promise<readonly SegmentInfo[]> {
  return (await selectVisible(tx)).map(infoOf);
}

async function readNow({ db }: Tx): Promise<number> {
  const { rows } = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
  return (rows[0] as { now: number }).now;
}

async function readVersion({ db }: Tx): Promise<number> {
  const row = await db.selectFrom("metric_catalog").select("version").executeTakeFirstOrThrow();
  return row.version;
}

async function selectVisible({ db }: Tx): Promise<SegmentRow[]> {
  return await db
    .selectFrom("metric_segments")
    .selectAll()
    .where("removed_at_ms", "is", null)
    .orderBy("seq")
    .orderBy("segment_id")
    .execute();
}

async function selectByIds({ db }: Tx, ids: readonly string[]): Promise<Map<string, SegmentRow>> {
  const found = new Map<string, SegmentRow>();
  for (const some of chunksOf(ids)) {
    const rows = await db
      .selectFrom("metric_segments")
      .selectAll()
      .where("segment_id", "in", some)
      .execute();
    for (const row of rows) found.set(row.segment_id, row);
  }
  return found;
}

/** Changes the version and takes a new number, for every publication. */
async function takeSeq({ db }: Tx): Promise<number> {
  const taken = await sql<{ seq: number }>`
       UPDATE metric_catalog
          SET version = version + 1, next_seq = next_seq + 1
        WHERE id = 1
    RETURNING next_seq - 1 AS seq`.execute(db as Kysely<unknown>);
  return (taken.rows[0] as { seq: number }).seq;
}

/** The WHERE clause finds only segments that nobody else has replaced (MC4). */
async function removeVisible({ db }: Tx, ids: readonly string[]): Promise<void> {
  for (const some of chunksOf(ids)) {
    const removed = await db
      .updateTable("metric_segments")
      .set({ removed_at_ms: sql<number>`now_ms()` })
      .where("segment_id", "in", some)
      .where("removed_at_ms", "is", null)
      .returning("segment_id")
      .execute();
    if (removed.length === some.length) continue;
    const message = "a segment that is to be replaced is gone already";
    throw new OperatingError("not_found", "never", message);
  }
}

async function insertSegments(
  { db }: Tx,
  segments: readonly SegmentInfo[],
  nowMs: number,
): Promise<void> {
  for (const some of chunksOf(segments)) {
    const rows = some.map((info): SegmentRow => rowOf(info, nowMs));
    await db.insertInto("metric_segments").values(rows).execute();
  }
}

function rowOf(info: SegmentInfo, nowMs: number): SegmentRow {
  return {
    segment_id: info.segmentId,
    seq: info.seq,
    level: info.level,
    min_ts: info.minTs,
    max_ts: info.maxTs,
    shard_count: info.shardCount,
    shard: info.shard,
    series_count: info.seriesCount,
    sample_count: info.sampleCount,
    histogram_count: info.histogramCount,
    size_bytes: info.sizeBytes,
    metric_names: info.metricNames === undefined ? null : JSON.stringify(info.metricNames),
    path: info.path,
    seal_seq: info.sealSeq,
    created_at_ms: nowMs,
    removed_at_ms: null,
    checksums: info.checksums === undefined ? null : JSON.stringify(info.checksums),
    checked_at_ms: nowMs,
    damage: null,
  };
}

function infoOf(row: SegmentRow): SegmentInfo {
  return {
    segmentId: row.segment_id,
    seq: row.seq,
    level: row.level,
    minTs: row.min_ts,
    maxTs: row.max_ts,
    shardCount: row.shard_count,
    shard: row.shard,
    seriesCount: row.series_count,
    sampleCount: row.sample_count,
    histogramCount: row.histogram_count,
    sizeBytes: row.size_bytes,
    metricNames: row.metric_names === null ? undefined : (JSON.parse(row.metric_names) as string[]),
    path: row.path,
    sealSeq: row.seal_seq,
    ...(row.checksums === null ? {} : { checksums: JSON.parse(row.checksums) as SegmentChecksums }),
  };
}

function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += rowsPerStatement) {
    yield items.slice(start, start + rowsPerStatement);
  }
}
