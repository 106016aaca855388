/**
 * Turns one target's scrapes into samples with the target's labels, stale markers for series that
 * ended, and a report of the scrape itself. Rules: IN13 to IN15.
 *
 * Does no I/O and has no clock: the caller gives the time.
 */
import { type Labels, metricNameLabel } from "../../../../promql/core/index.ts";
import type { SampleBatch } from "../../model.ts";
import { BatchBuilder } from "../batch-builder.ts";
import { quoted } from "../labels-text.ts";
import { MalformedInput } from "../malformed.ts";
import type { TextFormat } from "../text/parse-series.ts";
import type { ParsedBlock } from "../text/text-columns.ts";
import { TextParser } from "../text/text-parser.ts";
import { mergeTargetLabels } from "./merge-target-labels.ts";
import { relabel } from "./relabel.ts";
import type { Target } from "./target.ts";

/** A series as it is stored. Series texts that relabelling makes equal share one. */
interface Tracked {
  readonly labels: Labels;
  /** The last scrape that had it without a timestamp; `writtenIn`: the last that had it at all. */
  seenIn: number;
  writtenIn: number;
}

interface Entry {
  /** Undefined when relabelling dropped it. */
  readonly tracked: Tracked | undefined;
}

export interface ScrapeOutcome {
  readonly batch: SampleBatch;
  /** Empty when the scrape succeeded. */
  readonly error: string;
  /** Samples whose series occurred twice in one scrape, without timestamps. */
  readonly duplicateCount: number;
}

export interface ScrapedBody {
  readonly body: Uint8Array;
  readonly contentType: string;
}

const unusedSeriesMax = 10_000;
/**
 * Like in Prometheus, a series that was absent for more scrapes counts as added when it returns.
 */
const absentScrapesMax = 3;

export class TargetSamples {
  readonly #target: Target;
  readonly #parsers = new Map<TextFormat, TextParser>();
  /** Indexed by the parser's number of the series. */
  readonly #entries = new Map<TextParser, (Entry | undefined)[]>();
  #trackedByKey = new Map<string, Tracked>();
  /** Series without own timestamps in the last scrape. */
  #live: Tracked[] = [];
  #scrape = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  get rememberedCount(): number {
    const parsed = [...this.#parsers.values()].reduce(
      (sum, { rememberedCount }) => sum + rememberedCount,
      0,
    );
    return Math.max(parsed, this.#trackedByKey.size);
  }

  /** Takes over the series of the target's previous configuration, so that they do not end. */
  adopt(previous: TargetSamples): void {
    this.#live = previous.#live.map(({ labels }) => this.#track(labels));
    for (const tracked of this.#live) tracked.seenIn = this.#scrape;
  }

  /** `failure` says why there is no body. */
  digest(
    scraped: ScrapedBody | { readonly failure: string },
    atMs: number,
    durationMs: number,
  ): ScrapeOutcome {
    this.#scrape += 1;
    if ("failure" in scraped) return this.#failed(scraped.failure, atMs, durationMs, 0);
    try {
      return this.#succeeded(scraped, atMs, durationMs);
    } catch (thrown) {
      if (!(thrown instanceof MalformedInput)) throw thrown;
      return this.#failed(thrown.message, atMs, durationMs, scraped.body.length);
    }
  }

  /** Ends the series and report of a target that is gone. Undefined when it never had any. */
  endMarkers(atMs: number): SampleBatch | undefined {
    if (this.#scrape === 0) return undefined;
    const builder = new BatchBuilder();
    this.#scrape += 1;
    this.#markStale(builder, atMs);
    for (const name of reportNames(this.#target)) {
      builder.addStale(builder.addSeries(this.#reportLabels(name)), atMs);
    }
    return builder.build();
  }

  #succeeded({ body, contentType }: ScrapedBody, atMs: number, durationMs: number): ScrapeOutcome {
    const builder = new BatchBuilder();
    if (body.length === 0) {
      this.#markStale(builder, atMs);
      this.#report(builder, atMs, { ...emptyReport, up: 1, durationMs });
      return { batch: builder.build(), error: "", duplicateCount: 0 };
    }
    const parser = this.#parserFor(contentType);
    parser.begin();
    parser.feed(body);
    parser.end();
    const block = parser.take();
    const { added, seriesAdded, duplicateCount } = this.#addSamples(builder, parser, block, atMs);
    builder.metadata.push(...parser.takeMetadata());
    this.#markStale(builder, atMs);
    this.#report(builder, atMs, {
      up: 1,
      durationMs,
      scraped: block.count,
      added,
      seriesAdded,
      bodyBytes: body.length,
    });
    this.#forget(block.count);
    return { batch: builder.build(), error: "", duplicateCount };
  }

  #failed(error: string, atMs: number, durationMs: number, bodyBytes: number): ScrapeOutcome {
    const builder = new BatchBuilder();
    for (const tracked of this.#trackedByKey.values()) {
      // A body that failed half-way marked these series as seen and written, but nothing was
      // appended.
      if (tracked.seenIn === this.#scrape) tracked.seenIn = this.#scrape - 1;
      if (tracked.writtenIn === this.#scrape) tracked.writtenIn = this.#scrape - 1;
    }
    this.#markStale(builder, atMs);
    this.#report(builder, atMs, { ...emptyReport, up: 0, durationMs, bodyBytes });
    this.#forget(0);
    return { batch: builder.build(), error, duplicateCount: 0 };
  }

  #addSamples(
    builder: BatchBuilder,
    parser: TextParser,
    block: ParsedBlock,
    atMs: number,
  ): { added: number; seriesAdded: number; duplicateCount: number } {
    const { job } = this.#target;
    const scrape = this.#scrape;
    const indexes = new Map<Tracked, number>();
    let added = 0;
    let seriesAdded = 0;
    let duplicateCount = 0;
    for (let index = 0; index < block.count; index += 1) {
      const { tracked } = this.#entryOf(parser, block.series[index] as number);
      if (tracked === undefined) continue;
      added += 1;
      const ownTs = block.ts[index] as number;
      const isTimed = job.honorTimestamps && !Number.isNaN(ownTs);
      if (!isTimed && tracked.writtenIn === scrape) {
        duplicateCount += 1;
        continue;
      }
      if (job.limits.samples > 0 && added > job.limits.samples) {
        throw new MalformedInput("sample limit exceeded");
      }
      if (tracked.writtenIn < scrape - absentScrapesMax) seriesAdded += 1;
      tracked.writtenIn = scrape;
      if (!isTimed || job.trackTimestampsStaleness) tracked.seenIn = scrape;
      let series = indexes.get(tracked);
      if (series === undefined) {
        series = builder.addSeries(tracked.labels);
        indexes.set(tracked, series);
      }
      builder.addFloat(series, isTimed ? ownTs : atMs, block.values[index] as number);
      const startTs = block.startTs?.[index] ?? 0;
      if (startTs !== 0) builder.setStartTs(startTs);
    }
    this.#addExemplars(builder, parser, block, atMs);
    return { added, seriesAdded, duplicateCount };
  }

  #addExemplars(builder: BatchBuilder, parser: TextParser, block: ParsedBlock, atMs: number): void {
    for (const { series, labels, value, ts, sampleTs } of block.exemplars) {
      const { tracked } = this.#entryOf(parser, series);
      if (tracked === undefined) continue;
      const isSampleTimed = this.#target.job.honorTimestamps && !Number.isNaN(sampleTs);
      const otherwise = isSampleTimed ? sampleTs : atMs;
      builder.exemplars.push({
        series: tracked.labels,
        labels,
        value,
        ts: Number.isNaN(ts) ? otherwise : ts,
      });
    }
  }

  #entryOf(parser: TextParser, number: number): Entry {
    const entries = this.#entries.get(parser) as (Entry | undefined)[];
    const known = entries[number];
    if (known !== undefined) return known;
    const fresh = { tracked: this.#learn(parser.labelsOf(number)) };
    entries[number] = fresh;
    return fresh;
  }

  #learn(exposed: Labels): Tracked | undefined {
    const { job, labels } = this.#target;
    const merged = mergeTargetLabels(exposed, labels, job.honorLabels);
    const stored = relabel(merged, job.metricRelabelRules);
    if (stored === undefined || stored.count === 0) return undefined;
    if (stored.name === "") throw new MalformedInput("missing metric name (__name__ label)");
    this.#checkLimits(stored);
    return this.#track(stored);
  }

  #track(labels: Labels): Tracked {
    let tracked = this.#trackedByKey.get(labels.key);
    if (tracked === undefined) {
      tracked = { labels, seenIn: -1, writtenIn: Number.NEGATIVE_INFINITY };
      this.#trackedByKey.set(labels.key, tracked);
    }
    return tracked;
  }

  #checkLimits(labels: Labels): void {
    const { limits } = this.#target.job;
    const metric = labels.name.slice(0, 50);
    if (limits.labels > 0 && labels.count > limits.labels) {
      throw new MalformedInput(
        `label_limit exceeded (metric: ${metric}, number of labels: ${labels.count}, limit: ${limits.labels})`,
      );
    }
    if (limits.labelNameBytes === 0 && limits.labelValueBytes === 0) return;
    for (const [name, value] of labels.entries()) {
      const [nameBytes, valueBytes] = [utf8Length(name), utf8Length(value)];
      if (limits.labelNameBytes > 0 && nameBytes > limits.labelNameBytes) {
        throw new MalformedInput(
          `label_name_length_limit exceeded (metric: ${metric}, label name: ${name.slice(0, 50)}, ` +
            `length: ${nameBytes}, limit: ${limits.labelNameBytes})`,
        );
      }
      if (limits.labelValueBytes > 0 && valueBytes > limits.labelValueBytes) {
        throw new MalformedInput(
          `label_value_length_limit exceeded (metric: ${metric}, label name: ${name.slice(0, 50)}, ` +
            `value: ${quoted(value.slice(0, 50))}, length: ${valueBytes}, limit: ${limits.labelValueBytes})`,
        );
      }
    }
  }

  /** Adds markers for the series of the last scrape that are missing in this one. */
  #markStale(builder: BatchBuilder, atMs: number): void {
    for (const tracked of this.#live) {
      if (tracked.seenIn !== this.#scrape && tracked.writtenIn !== this.#scrape) {
        builder.addStale(builder.addSeries(tracked.labels), atMs);
      }
    }
    const live: Tracked[] = [];
    for (const tracked of this.#trackedByKey.values()) {
      if (tracked.seenIn === this.#scrape) live.push(tracked);
    }
    this.#live = live;
  }

  #report(builder: BatchBuilder, atMs: number, report: Report): void {
    const { timeoutMs, job } = this.#target;
    const values = [
      report.up,
      report.durationMs / 1_000,
      report.scraped,
      report.added,
      report.seriesAdded,
      timeoutMs / 1_000,
      job.limits.samples,
      report.bodyBytes,
    ];
    for (const [index, name] of reportNames(this.#target).entries()) {
      const series = builder.addSeries(this.#reportLabels(name));
      builder.addFloat(series, atMs, values[index] as number);
    }
  }

  readonly #reportCache = new Map<string, Labels>();

  #reportLabels(name: string): Labels {
    let labels = this.#reportCache.get(name);
    if (labels === undefined) {
      labels = this.#target.labels.with(metricNameLabel, name);
      this.#reportCache.set(name, labels);
    }
    return labels;
  }

  #parserFor(contentType: string): TextParser {
    const format = formatOf(contentType, this.#target.job.fallbackMediaType);
    let parser = this.#parsers.get(format);
    if (parser === undefined) {
      parser = new TextParser({ format, timestampsRequired: false, onError: "fail" });
      this.#parsers.set(format, parser);
      this.#entries.set(parser, []);
    }
    return parser;
  }

  /** Once too many series are remembered, forgets all but those of the last scrape (IN15). */
  #forget(sampleCount: number): void {
    if (this.rememberedCount <= unusedSeriesMax + 4 * sampleCount) return;
    this.#parsers.clear();
    this.#entries.clear();
    const kept = this.#live;
    this.#trackedByKey = new Map(kept.map((tracked) => [tracked.labels.key, tracked]));
  }
}

interface Report {
  readonly up: number;
  readonly durationMs: number;
  readonly scraped: number;
  readonly added: number;
  readonly seriesAdded: number;
  readonly bodyBytes: number;
}

const emptyReport = { scraped: 0, added: 0, seriesAdded: 0, bodyBytes: 0 };

function reportNames({ job }: Target): string[] {
  const names = [
    "up",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "scrape_samples_post_metric_relabeling",
    "scrape_series_added",
  ];
  const extra = ["scrape_timeout_seconds", "scrape_sample_limit", "scrape_body_size_bytes"];
  return job.extraMetrics ? [...names, ...extra] : names;
}

/** Throws Prometheus's message for a content type that cannot be parsed. */
function formatOf(contentType: string, fallback: string | undefined): TextFormat {
  const mediaType = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const known = formats.get(mediaType) ?? formats.get(fallback ?? "");
  if (known !== undefined) return known;
  throw new MalformedInput(
    mediaType === ""
      ? "non-compliant scrape target sending blank Content-Type and no fallback_scrape_protocol specified for target"
      : `received unsupported Content-Type ${quoted(contentType)} and no fallback_scrape_protocol specified for target`,
  );
}

const formats: ReadonlyMap<string, TextFormat> = new Map([
  ["application/openmetrics-text", "openmetrics"],
  ["text/plain", "prometheus"],
]);

const encoder = new TextEncoder();

function utf8Length(text: string): number {
  return encoder.encode(text).length;
}
