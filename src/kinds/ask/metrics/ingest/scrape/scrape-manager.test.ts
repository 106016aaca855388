import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../../../../ground/kernel/logger.ts";
import { VirtualClock } from "../../../../../ground/kernel/testing/virtual-clock.ts";
import { parseScrapeConfig } from "../../core/ingest/scrape/parse-scrape-config.ts";
import type { TargetFile } from "../../core/ingest/scrape/scrape-fetcher.ts";
import type { ScrapedBody } from "../../core/ingest/scrape/target-samples.ts";
import type { SampleBatch } from "../../core/model.ts";
import { ScrapeManager } from "./scrape-manager.ts";

const wallStartMs = 1_700_000_000_000;

/** A manager, what it appended, and targets whose answers a test decides. */
class Fixture {
  readonly clock = new VirtualClock({ wallStartMs });
  readonly appended: { readonly atMs: number; readonly batch: SampleBatch }[] = [];
  readonly scrapes: { readonly url: string; readonly atMs: number }[] = [];
  files: readonly TargetFile[] | Error = [];
  answer: (url: string) => Promise<string> = async () => "a 1\n";
  readonly manager = new ScrapeManager({
    clock: this.clock,
    logger: silentLogger,
    offsetSeed: "seed",
    fetcher: {
      fetch: async ({ url }): Promise<ScrapedBody> => {
        this.scrapes.push({ url, atMs: this.clock.wallMs() });
        const body = new TextEncoder().encode(await this.answer(url));
        return { body, contentType: "text/plain" };
      },
    },
    files: {
      read: async () => {
        if (this.files instanceof Error) throw this.files;
        return this.files;
      },
    },
    append: async (batch) => {
      this.appended.push({ atMs: this.clock.wallMs(), batch });
      return {
        appended: batch.count,
        histogramsAppended: 0,
        exemplarsAppended: 0,
        duplicates: 0,
        conflicts: 0,
        tooOld: 0,
        tooNew: 0,
        firstProblem: undefined,
      };
    },
  });

  apply(jobs: string): Promise<void> {
    return this.manager.apply(parseScrapeConfig(`scrape_configs: [${jobs}]`));
  }

  /** The samples appended so far of the named metrics, as `name value@seconds`. */
  samples(...names: string[]): string[] {
    return this.appended.flatMap(({ batch }) =>
      Array.from({ length: batch.count }, (_, index) => {
        const labels = batch.series[batch.seriesIndex[index] as number];
        if (labels === undefined || !names.includes(labels.name)) return "";
        const value = batch.stale?.[index] === 1 ? "stale" : batch.values[index];
        return `${labels.name} ${value}@${((batch.ts[index] as number) - this.firstMs) / 1_000}`;
      }).filter((text) => text !== ""),
    );
  }

  get firstMs(): number {
    return this.scrapes[0]?.atMs ?? 0;
  }
}

const job = (name: string, target: string, more = ""): string =>
  `{job_name: ${name}, scrape_interval: 10s, scrape_timeout: 4s, static_configs: [{targets: ['${target}']}]${more}}`;

test("[IN16] a target is scraped at its own place of the interval, every interval", async () => {
  const fixture = new Fixture();
  await fixture.apply(`${job("a", "h:1")}, ${job("b", "h:2")}`);
  await fixture.clock.advance(30_000);
  const times = (url: string): number[] =>
    fixture.scrapes.filter((scrape) => scrape.url === url).map(({ atMs }) => atMs);
  const [first, second] = [times("http://h:1/metrics"), times("http://h:2/metrics")];
  assert.equal(first.length, 3);
  assert.deepEqual(
    [(first[1] as number) - (first[0] as number), (first[2] as number) - (first[1] as number)],
    [10_000, 10_000],
  );
  assert.notEqual((first[0] as number) % 10_000, (second[0] as number) % 10_000);
  const again = new Fixture();
  await again.clock.advance(3_333);
  await again.apply(job("a", "h:1"));
  await again.clock.advance(20_000);
  assert.equal(
    (again.scrapes[0]?.atMs ?? 0) % 10_000,
    (first[0] as number) % 10_000,
    "another start, the same place",
  );
  fixture.manager.close();
  again.manager.close();
});

test("[IN16] a target that does not answer in time is down, and its scrapes do not overlap", async () => {
  const fixture = new Fixture();
  fixture.answer = () => new Promise(() => undefined);
  await fixture.apply(job("a", "h:1"));
  await fixture.clock.advance(25_000);
  assert.deepEqual(fixture.samples("up", "scrape_duration_seconds").slice(0, 2), [
    "up 0@0",
    "scrape_duration_seconds 4@0",
  ]);
  const [status] = fixture.manager.targets();
  assert.equal(status?.health, "down");
  assert.equal(status.lastError, 'Get "http://h:1/metrics": context deadline exceeded');
  fixture.manager.close();
});

test("[IN16] the status of targets says how they are", async () => {
  const fixture = new Fixture();
  await fixture.apply(job("a", "h:1"));
  assert.equal(fixture.manager.targets()[0]?.health, "unknown");
  await fixture.clock.advance(10_000);
  const [status] = fixture.manager.targets();
  assert.deepEqual(
    [
      status?.pool,
      status?.url,
      status?.health,
      status?.lastError,
      status?.labels,
      status?.intervalMs,
      status?.timeoutMs,
    ],
    ["a", "http://h:1/metrics", "up", "", { instance: "h:1", job: "a" }, 10_000, 4_000],
  );
  assert.equal(status?.discoveredLabels.__address__, "h:1");
  assert.equal(status?.lastScrapeMs, fixture.firstMs);
  fixture.manager.close();
});

test("[IN17] a reload leaves unchanged targets alone", async () => {
  const fixture = new Fixture();
  await fixture.apply(job("a", "h:1"));
  await fixture.clock.advance(12_000);
  const before = fixture.scrapes.length;
  await fixture.apply(`${job("a", "h:1")}, ${job("b", "h:2")}`);
  await fixture.clock.advance(20_000);
  const gaps = fixture.scrapes
    .filter(({ url }) => url.includes("h:1"))
    .map(({ atMs }) => atMs - fixture.firstMs);
  assert.ok(before >= 1);
  assert.deepEqual(
    gaps,
    gaps.map((_, index) => index * 10_000),
  );
  assert.deepEqual(
    fixture.samples("a").filter((text) => text.includes("stale")),
    [],
  );
  fixture.manager.close();
});

test("[IN17] a changed job's targets start anew and keep their series", async () => {
  const fixture = new Fixture();
  fixture.answer = async () => (fixture.scrapes.length === 1 ? "a 1\nb 1\n" : "a 2\n");
  await fixture.apply(job("a", "h:1"));
  await fixture.clock.advance(10_000);
  assert.equal(fixture.scrapes.length, 1);
  await fixture.apply(job("a", "h:1", ", sample_limit: 50"));
  await fixture.clock.advance(10_000);
  assert.deepEqual(fixture.samples("a", "b"), ["a 1@0", "b 1@0", "a 2@10", "b stale@10"]);
  fixture.manager.close();
});

test("[IN17] a target that is gone leaves stale markers after two intervals", async () => {
  const fixture = new Fixture();
  await fixture.apply(job("a", "h:1"));
  await fixture.clock.advance(10_000);
  await fixture.apply("");
  assert.deepEqual(fixture.manager.targets(), []);
  const gone = fixture.appended.length;
  await fixture.clock.advance(10_000);
  assert.equal(fixture.appended.length, gone);
  await fixture.clock.advance(12_000);
  assert.deepEqual(fixture.samples("a", "up").slice(2), ["a stale@10", "up stale@10"]);
  assert.equal(fixture.clock.pendingCount, 0);
});

test("[IN17] a target that comes back in time leaves none", async () => {
  const fixture = new Fixture();
  await fixture.apply(job("a", "h:1"));
  await fixture.clock.advance(10_000);
  await fixture.apply("");
  await fixture.clock.advance(1_000);
  await fixture.apply(job("a", "h:1"));
  await fixture.clock.advance(40_000);
  assert.deepEqual(
    fixture.samples("a").filter((text) => text.includes("stale")),
    [],
  );
  fixture.manager.close();
});

test("[IN17] too many targets fail all of the job's, and fewer again do not", async () => {
  const fixture = new Fixture();
  const targets = (list: string): string =>
    `{job_name: a, scrape_interval: 10s, target_limit: 1, static_configs: [{targets: [${list}]}]}`;
  await fixture.apply(targets("'h:1', 'h:2'"));
  await fixture.clock.advance(10_000);
  assert.equal(fixture.scrapes.length, 0);
  assert.equal(
    fixture.manager.targets()[0]?.lastError,
    "target_limit exceeded (number of targets: 2, limit: 1)",
  );
  await fixture.apply(targets("'h:1'"));
  await fixture.clock.advance(10_000);
  assert.equal(fixture.manager.targets()[0]?.health, "up");
  fixture.manager.close();
});

test("[IN18] files of targets are read again, and one that cannot be read changes nothing", async () => {
  const fixture = new Fixture();
  fixture.files = [{ path: "/t/x.json", text: '[{"targets": ["h:1"]}]' }];
  await fixture.apply("{job_name: a, scrape_interval: 10s, file_sd_configs: [{files: [x.json]}]}");
  const urls = (): string[] => fixture.manager.targets().map(({ url }) => url);
  assert.deepEqual(urls(), ["http://h:1/metrics"]);
  assert.equal(fixture.manager.targets()[0]?.discoveredLabels.__meta_filepath, "/t/x.json");
  fixture.files = [{ path: "/t/x.json", text: '[{"targets": ["h:1", "h:2"]}]' }];
  await fixture.clock.advance(5_000);
  assert.deepEqual(urls(), ["http://h:1/metrics", "http://h:2/metrics"]);
  fixture.files = new Error("no such file");
  await fixture.clock.advance(5_000);
  assert.equal(urls().length, 2);
  fixture.files = [{ path: "/t/x.json", text: "[{" }];
  await fixture.clock.advance(5_000);
  assert.equal(urls().length, 2);
  fixture.files = [];
  await fixture.clock.advance(5_000);
  assert.deepEqual(urls(), []);
  fixture.manager.close();
});

test("[IN16] this process is a target without a network, and stays through reloads", async () => {
  const fixture = new Fixture();
  let reads = 0;
  fixture.manager.addSelfTarget({
    job: "capstan",
    instance: "coordinator",
    intervalMs: 5_000,
    read: async () => ({ contentType: "text/plain", text: `own ${++reads}\n` }),
  });
  await fixture.apply("");
  await fixture.clock.advance(10_000);
  assert.equal(reads, 2);
  const labels = fixture.appended[0]?.batch.series[0]?.toRecord();
  assert.deepEqual(labels, { __name__: "own", job: "capstan", instance: "coordinator" });
  assert.equal(fixture.manager.targets()[0]?.health, "up");
  fixture.manager.close();
});

test("[IN16] after close nothing runs and nothing is appended", async () => {
  const fixture = new Fixture();
  let settle: (text: string) => void = () => undefined;
  fixture.answer = () => new Promise((resolve) => (settle = resolve));
  await fixture.apply(
    `${job("a", "h:1")}, ${job("b", "h:2", ", file_sd_configs: [{files: [x.json]}]")}`,
  );
  await fixture.clock.advance(10_000);
  assert.ok(fixture.scrapes.length > 0);
  const before = fixture.appended.length;
  fixture.manager.close();
  settle("a 1\n");
  await fixture.clock.advance(60_000);
  assert.equal(fixture.appended.length, before);
  assert.equal(fixture.clock.pendingCount, 0);
});
