/** A head with its lake and an in-memory catalog, for tests that stop it in every way. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { silentLogger } from "../../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import type { RawSeries } from "../../../promql/core/index.ts";
import type { HeadSnapshot, SegmentInfo } from "../../core/model.ts";
import { collectSeries } from "../../segments/collect-series.ts";
import { decodeRawSeries } from "../../segments/raw-series-codec.ts";
import { openSegment } from "../../segments/segment-reader.ts";
import { SeriesInterner } from "../../segments/series-interner.ts";
import { everySeries } from "../../testing/sample-batches.ts";
import { type MetricsDb, type MetricsDbOptions, openMetricsDb } from "../metrics-db.ts";

let fixtures = 0;

export class DbFixture {
  readonly root: string;
  readonly published = new Map<string, SegmentInfo>();
  /** Faults of the next publications: thrown before or after the publication is done. */
  readonly publishFaults: ("before" | "after")[] = [];
  readonly prng = createPrng(`db-${fixtures++}`);
  #nextSeq = 1;

  constructor(test: Pick<TestContext, "after">) {
    this.root = mkdtempSync(join(tmpdir(), "capstan-db-"));
    test.after(() => rmSync(this.root, { recursive: true, force: true }));
  }

  get walDir(): string {
    return join(this.root, "wal");
  }

  get lakeDir(): string {
    return join(this.root, "lake");
  }

  open(options: Partial<MetricsDbOptions> = {}): Promise<MetricsDb> {
    return openMetricsDb({
      walDir: this.walDir,
      lakeDir: this.lakeDir,
      clock: realClock,
      prng: this.prng,
      logger: silentLogger,
      publish: (add) => this.publish(add),
      publishedSealSeq: async (lineage) => this.publishedSealSeq(lineage),
      limits: { outOfOrderMs: Infinity, futureMs: Infinity },
      blockMs: 1000,
      ...options,
    });
  }

  async publish(add: readonly SegmentInfo[]): Promise<void> {
    const fault = this.publishFaults.shift();
    if (fault === "before") throw new Error("the store is away");
    const seq = this.#nextSeq++;
    for (const info of add) {
      if (!this.published.has(info.segmentId)) this.published.set(info.segmentId, { ...info, seq });
    }
    if (fault === "after") throw new Error("the store went away");
  }

  publishedSealSeq(lineage: string): number {
    const own = [...this.published.values()].filter(({ segmentId }) =>
      segmentId.startsWith(`${lineage}-`),
    );
    return own.reduce((most, { sealSeq }) => Math.max(most, sealSeq), 0);
  }

  /** Copies the log as a crash would leave it: nothing is closed. */
  crashCopy(test: Pick<TestContext, "after">): DbFixture {
    const copy = new DbFixture(test);
    cpSync(this.root, copy.root, { recursive: true });
    for (const [id, info] of this.published) copy.published.set(id, info);
    copy.#nextSeq = this.#nextSeq;
    return copy;
  }

  /** A query's view: takes the snapshot first, then lists the segments. */
  takeView(db: MetricsDb): View {
    return { snapshot: db.snapshot(), segments: [...this.published.values()] };
  }

  /** Everything that a query with this view sees. */
  readAll(db: MetricsDb, shardCount = 1, view: View = this.takeView(db)): RawSeries[] {
    const interner = new SeriesInterner();
    const readers = view.segments.map((info) => openSegment(this.lakeDir, info, { interner }));
    const range = { minMs: -Infinity, maxMs: Infinity };
    const found: RawSeries[] = [];
    for (let shard = 0; shard < shardCount; shard += 1) {
      const scope = { matchers: everySeries, shard, shardCount };
      const head = decodeRawSeries(db.slice({ snapshot: view.snapshot, ...scope, ...range }));
      found.push(...collectSeries(readers, head, { ...scope, range }));
    }
    for (const reader of readers) reader.close();
    return found;
  }
}

export interface View {
  readonly snapshot: HeadSnapshot;
  readonly segments: readonly SegmentInfo[];
}
