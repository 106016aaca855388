/**
 * `npm run sim -- --suite log`: the head with its log, seals, the catalog and compaction on a disk
 * that fails. Production: `MetricsDb`, `Wal`, replay, `SegmentWriter`, `SegmentCatalog`,
 * `Maintenance`, `compactBlock`. Clients send batches, and send again what was not acknowledged, as
 * Prometheus does.
 */
import { basename } from "node:path";
import { messageOf, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Files } from "../../src/ground/kernel/files.ts";
import type { LeaseEpoch } from "../../src/ground/kernel/ids.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import type { LeaseGrant } from "../../src/ground/store/index.ts";
import type { SampleBatch, SegmentInfo } from "../../src/kinds/ask/metrics/core/model.ts";
import { compactBlock } from "../../src/kinds/ask/metrics/fs/compact-block.ts";
import { decodeLogList, parseListName } from "../../src/kinds/ask/metrics/fs/log-list.ts";
import { type MetricsDb, openMetricsDb } from "../../src/kinds/ask/metrics/fs/metrics-db.ts";
import { collectSeries } from "../../src/kinds/ask/metrics/segments/collect-series.ts";
import { decodeRawSeries } from "../../src/kinds/ask/metrics/segments/raw-series-codec.ts";
import { openSegment } from "../../src/kinds/ask/metrics/segments/segment-reader.ts";
import { SeriesInterner } from "../../src/kinds/ask/metrics/segments/series-interner.ts";
import { Maintenance } from "../../src/kinds/ask/metrics/store/maintenance.ts";
import { SegmentCatalog } from "../../src/kinds/ask/metrics/store/segment-catalog.ts";
import {
  batchOf,
  everySeries,
  type TestSample,
} from "../../src/kinds/ask/metrics/testing/sample-batches.ts";
import { Labels } from "../../src/kinds/ask/promql/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { RunResult } from "../run-plan.ts";
import { FileNode } from "./disk-image.ts";
import { type DiskRunOptions, DiskWorld } from "./disk-world.ts";
import { withMethods } from "./with-methods.ts";

const walDir = "/data/controllers/c/wal";
const lakeDir = "/data/lake/metrics";
const lease: LeaseGrant = { name: "coordinator", holder: "c", epoch: 1 as LeaseEpoch };
const clientCount = 3;
const blockMs = 1_000;

interface Sent {
  readonly batch: SampleBatch;
  /** `series key@ts`, and the value. */
  readonly samples: ReadonlyMap<string, number>;
  isAcknowledged: boolean;
}

export async function runLogSeed(seed: number, options: DiskRunOptions = {}): Promise<RunResult> {
  const world = new DiskWorld("log", seed, options);
  await world.store.transaction(async ({ db }) => {
    const row = { ...lease, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  const run = new LogRun(world);
  return world.run(run, () => run.checkEnd());
}

class LogRun {
  readonly #world: DiskWorld;
  readonly #sent: Sent[] = [];
  readonly #settings: { readonly shardCount: number; readonly walFileBytesMax: number };
  #db: { readonly db: MetricsDb; readonly life: Life; readonly files: Files } | undefined;
  #nextTs = 1;
  #acknowledgedSinceHealing = 0;

  constructor(world: DiskWorld) {
    this.#world = world;
    const { prng } = world;
    this.#settings = {
      shardCount: prng.next() < 0.5 ? 1 : 2,
      walFileBytesMax: 500 + prng.below(6_000),
    };
    for (let client = 0; client < clientCount; client += 1) this.#clientTurn(undefined);
  }

  start(life: Life, files: Files): void {
    const { verdict } = this.#world;
    this.#open(life, this.#watchLists(files)).then(
      () => undefined,
      (thrown: unknown) => {
        if (life.isDown) return;
        if (!isDiskTrouble(thrown)) {
          verdict.fail("I37", `after a crash the log does not open: ${messageOf(thrown)}`);
        }
        this.#world.counters.add("log: could not be opened");
        this.#world.later(life, 100, () => this.#world.endProcess(life));
      },
    );
  }

  ended(): void {
    this.#db = undefined;
  }

  async checkEnd(): Promise<void> {
    const { verdict } = this.#world;
    if (this.#db === undefined) verdict.fail("I38", "the log is not open once the disk is well");
    else await this.#check(this.#db);
    verdict.require(
      this.#acknowledgedSinceHealing > 0,
      "I38",
      () => "nothing is acknowledged once the disk is well",
    );
  }

  async #open(life: Life, files: Files): Promise<void> {
    const { prng, store, seams } = this.#world;
    const catalog = new WatchedCatalog(this.#world, life, store);
    const ownPrng = prng.fork(`db-${life.number}`);
    const db = await openMetricsDb({
      files,
      openLog: seams.openLog,
      walDir,
      lakeDir,
      clock: life,
      prng: ownPrng,
      logger: silentLogger,
      publish: async (add) => void (await catalog.publish({ add, remove: [] }, lease)),
      publishedSealSeq: (lineage) => catalog.publishedSealSeq(lineage),
      limits: { outOfOrderMs: Infinity, futureMs: Infinity },
      headSamplesMax: 80,
      headAgeMsMax: 2_500,
      tickMs: 200,
      retainMs: 1_000,
      blockMs,
      ...this.#settings,
    });
    void db.failed.then(({ code }) => {
      this.#world.counters.add("log: failed");
      if (code === "disk_full") this.#world.verdict.fail("I38", "a full disk ended the log");
      this.#world.later(life, 50, () => this.#world.endProcess(life));
    });
    const opened = { db, life, files };
    await this.#check(opened);
    this.#db = opened;
    this.#world.counters.add("log: opened");
    new Maintenance({
      files,
      store,
      catalog,
      lakeDir,
      lease: () => lease,
      holder: `c-${life.number}`,
      clock: life,
      logger: silentLogger,
      compaction: { blockMs, samplesPerShard: 200, settleMs: 0, depthMax: 3 },
      retention: { retentionMs: Infinity },
      everyMs: 700,
      claimMs: 1_000,
      graceMs: 500,
      orphanAgeMs: 3_000,
      compact: (request) => compactBlock(request, ownPrng.fork("compaction"), files),
    }).start();
  }

  /**
   * A list of the log's files is a commit, too: what it names is on the disk before the list gets
   * its name. I36
   */
  #watchLists(files: Files): Files {
    const rename: Files["rename"] = (from, to) => {
      if (parseListName(basename(to)) !== undefined) this.#checkList(from, to);
      return files.rename(from, to);
    };
    return withMethods<Files>(files, { rename });
  }

  #checkList(from: string, to: string): void {
    const { image, verdict } = this.#world;
    const written = image.find(from);
    if (!(written instanceof FileNode)) return; // The rename says so.
    const isWhole = written.isSynced;
    verdict.require(isWhole, "I36", () => `${to} is replaced by a list that is not synced`);
    const list = decodeLogList(written.content, parseListName(basename(to)) ?? 0);
    for (const { name, bytes } of list?.files ?? []) {
      const file = image.findSafe(`${walDir}/${name}`);
      const isSafe = file instanceof FileNode && file.isSafeUpTo(bytes ?? 0);
      verdict.require(isSafe, "I36", () => `${name} is listed, and a power loss would take it`);
    }
    this.#world.counters.add("log: listed");
  }

  /** One client; `again` is what was not acknowledged yet. */
  #clientTurn(again: Sent | undefined): void {
    const { timeline, prng, verdict } = this.#world;
    timeline.after(prng.next() * (again === undefined ? 60 : 300), () => {
      if (verdict.violation !== undefined) return;
      const open = this.#db;
      if (open === undefined) {
        this.#clientTurn(again);
        return;
      }
      const sent = again ?? this.#newBatch();
      let isOver = false;
      const over = (isDone: boolean): void => {
        if (isOver) return;
        isOver = true;
        if (isDone) this.#acknowledge(sent);
        // Some clients give up: what they sent may be there, or not.
        this.#clientTurn(isDone || prng.next() < 0.1 ? undefined : sent);
      };
      open.life.onEnd(() => over(false));
      open.life.receive(() => {
        open.db.append(sent.batch).then(
          ({ appended, duplicates }) => over(appended + duplicates === sent.batch.count),
          (thrown: unknown) => {
            this.#world.refused("log", thrown);
            if (isFull(thrown)) open.db.slice(wholeOf(open.db)); // It is read all the same.
            over(false);
          },
        );
      });
    });
  }

  #newBatch(): Sent {
    const { prng } = this.#world;
    const rows = Array.from({ length: 1 + prng.below(12) }, (): [Labels, TestSample] => {
      const labels = Labels.of({ __name__: `m${prng.below(3)}`, a: `${prng.below(4)}` });
      this.#nextTs += 1 + prng.below(20);
      return [labels, { ts: this.#nextTs, value: this.#nextTs * 7 }];
    });
    const samples = new Map(
      rows.map(([labels, { ts, value }]) => [`${labels.key}@${ts}`, value as number]),
    );
    const sent = { batch: batchOf(rows), samples, isAcknowledged: false };
    this.#sent.push(sent);
    return sent;
  }

  #acknowledge(sent: Sent): void {
    sent.isAcknowledged = true;
    if (this.#world.isHealed) this.#acknowledgedSinceHealing += 1;
    this.#world.counters.add("log: acknowledged");
    this.#world.trace.note("acknowledged", "batch", sent.samples.size);
  }

  /** I34, I35: what a query sees now. */
  async #check({ db, files }: { readonly db: MetricsDb; readonly files: Files }): Promise<void> {
    const { verdict, store, counters } = this.#world;
    const segments = await new SegmentCatalog({ store }).list();
    let seen: ReadonlyMap<string, number>;
    try {
      seen = readAll(db, segments, files);
    } catch (thrown) {
      verdict.fail("I36", `what was published cannot be read: ${messageOf(thrown)}`);
      return;
    }
    let expected = 0;
    for (const { samples, isAcknowledged } of this.#sent) {
      const found = [...samples].filter(([key]) => seen.has(key));
      const wrong = found.find(([key, value]) => seen.get(key) !== value);
      if (wrong !== undefined) verdict.fail("I35", `${wrong[0]} is not what was sent`);
      expected += found.length;
      const isWhole = found.length === samples.size;
      if (isAcknowledged && !isWhole) {
        const [missing] = [...samples.keys()].filter((key) => !seen.has(key));
        verdict.fail("I34", `${missing} was acknowledged, and is not there after a crash`);
      } else if (!isWhole && found.length > 0) {
        verdict.fail("I35", `a write of ${samples.size} samples is there in part`);
      }
      counters.add(isAcknowledged ? "log: there after a crash" : "log: unacknowledged");
    }
    verdict.require(seen.size === expected, "I35", () => "there are samples that nobody sent");
  }
}

/** Commits at one moment, at which everything that it names must be on the disk. I36 */
class WatchedCatalog extends SegmentCatalog {
  readonly #world: DiskWorld;
  readonly #life: Life;

  constructor(world: DiskWorld, life: Life, store: DiskWorld["store"]) {
    super({ store });
    this.#world = world;
    this.#life = life;
  }

  override publish(
    ...given: Parameters<SegmentCatalog["publish"]>
  ): ReturnType<SegmentCatalog["publish"]> {
    const { prng, counters, seams } = this.#world;
    const commit = (): ReturnType<SegmentCatalog["publish"]> =>
      new Promise((resolve, reject) => {
        this.#world.later(this.#life, 5, () => {
          this.#checkSafe(given[0].add);
          const isLost = !this.#world.isHealed && prng.next() < 0.05;
          super.publish(...given).then((published) => {
            counters.add(given[0].remove.length > 0 ? "log: compacted" : "log: sealed");
            this.#world.later(this.#life, 5, () => {
              if (isLost) reject(new OperatingError("commit_unknown", "backoff", "no answer"));
              else resolve(published);
            });
          }, reject);
        });
      });
    return seams.publish(commit);
  }

  #checkSafe(add: readonly SegmentInfo[]): void {
    const { image, verdict } = this.#world;
    for (const { path } of add) {
      verdict.require(
        image.isSafe(`${lakeDir}/${path}`),
        "I36",
        () => `${path} is published, and a power loss would take it`,
      );
    }
  }
}

/** Everything that the head has. */
function wholeOf(db: MetricsDb): Parameters<MetricsDb["slice"]>[0] {
  const range = { minMs: -Infinity, maxMs: Infinity };
  return { snapshot: db.snapshot(), matchers: everySeries, shard: 0, shardCount: 1, ...range };
}

function isFull(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "disk_full";
}

function readAll(
  db: MetricsDb,
  segments: readonly SegmentInfo[],
  files: Files,
): ReadonlyMap<string, number> {
  const interner = new SeriesInterner();
  const readers = segments.map((info) => openSegment(lakeDir, info, { interner, files }));
  const { matchers, shard, shardCount, minMs, maxMs } = wholeOf(db);
  const scope = { matchers, shard, shardCount };
  const range = { minMs, maxMs };
  const head = decodeRawSeries(db.slice(wholeOf(db)));
  const seen = new Map<string, number>();
  for (const { labels, samples } of collectSeries(readers, head, { ...scope, range })) {
    for (let index = 0; index < samples.count; index += 1) {
      seen.set(`${labels.key}@${samples.ts[index]}`, samples.values[index] as number);
    }
  }
  for (const reader of readers) reader.close();
  return seen;
}

/** An error that the disk's faults explain, and that is temporary. */
function isDiskTrouble(thrown: unknown): boolean {
  const { code } = thrown as { readonly code?: string };
  return (
    code === "EIO" || code === "ENOSPC" || code === "disk_full" || code === "store_unavailable"
  );
}
