/**
 * Prometheus metrics of one process. `work_id` and `query_id` are never labels, because their
 * number is unlimited. Worker names are labels only where a person must see which worker it is and
 * an operator limits their number.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from "prom-client";
import { realClock } from "../kernel/node/real-clock.ts";
import { ExemplarBook } from "./exemplar-book.ts";
import {
  formatOpenMetrics,
  type MetricFamily,
  openMetricsContentType,
  prefersOpenMetrics,
} from "./open-metrics.ts";
import { SharedReading } from "./shared-reading.ts";

/** From a local round trip to a long query. */
const latencyBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

export interface MetricsConfig {
  /** `coordinator`, `query_api` or `worker`: a label of every metric. */
  readonly process: string;
  readonly version: string;
}

/** A histogram of works. A `work_id` is an exemplar, never a label. */
export interface WorkHistogram<L extends string> {
  observe(
    labels: Readonly<Record<L, string>>,
    value: number,
    work: { readonly queryId: string; readonly workId: string },
  ): void;
}

/** Reads the value of each label set. */
type ReadValues<L extends string> = () => readonly {
  readonly labels: Readonly<Record<L, string>>;
  readonly value: number;
}[];

interface Readable {
  get(): Promise<MetricFamily>;
}

/** What prom-client keeps for each label set; its types leave this out. */
interface SummaryWindows {
  readonly hashMap: Readonly<Record<string, { readonly td: { size(): number } }>>;
}

/** A quantile without observations is NaN, as in Prometheus's own clients; prom-client says 0. */
class HonestSummary<L extends string> extends Summary<L> {
  override async get(): ReturnType<Summary<L>["get"]> {
    const family = await super.get();
    // prom-client gives the same number of values for each label set, in the order of its map.
    const windows = Object.values((this as unknown as SummaryWindows).hashMap);
    const valuesEach = family.values.length / windows.length;
    for (const [index, sample] of family.values.entries()) {
      const isEmpty = windows[Math.floor(index / valuesEach)]?.td.size() === 0;
      if ("quantile" in sample.labels && isEmpty) sample.value = Number.NaN;
    }
    return family;
  }
}

/** Prefixes every name, except those that a specification gives (`Metrics.bare`). */
class MetricFactory {
  readonly #registry: Registry;
  readonly #prefix: string;

  constructor(registry: Registry, prefix: string) {
    this.#registry = registry;
    this.#prefix = prefix;
  }

  counter<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Counter<L> {
    return new Counter(this.#named(name, help, labelNames));
  }

  /** With `read`, the value is read at each scrape. */
  gauge<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    read?: () => number | Promise<number>,
  ): Gauge<L> {
    const collect =
      read === undefined
        ? {}
        : {
            async collect(this: Gauge<L>) {
              this.set(await read());
            },
          };
    return new Gauge({ ...this.#named(name, help, labelNames), ...collect });
  }

  /** One value for each label set that `read` returns at a scrape; other sets disappear. */
  gauges<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: ReadValues<L>,
  ): void {
    new Gauge({
      ...this.#named(name, help, labelNames),
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.set(labels, value);
      },
    });
  }

  /** As `gauges`, for counts that somebody else keeps: they begin anew when theirs do. */
  counters<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: ReadValues<L>,
  ): void {
    new Counter({
      ...this.#named(name, help, labelNames),
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.inc(labels, value);
      },
    });
  }

  /** In seconds. */
  histogram<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Histogram<L> {
    return new Histogram({ ...this.#named(name, help, labelNames), buckets: latencyBuckets });
  }

  /** In seconds: p50, p95 and p99 of about the last ten minutes. */
  summary<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Summary<L> {
    return new HonestSummary({
      ...this.#named(name, help, labelNames),
      percentiles: [0.5, 0.95, 0.99],
      maxAgeSeconds: 600,
      ageBuckets: 5,
      pruneAgedBuckets: false,
    });
  }

  #named<L extends string>(name: string, help: string, labelNames: readonly L[]) {
    return { name: `${this.#prefix}${name}`, help, labelNames, registers: [this.#registry] };
  }
}

export class Metrics extends MetricFactory {
  /** Creates metrics under exactly the given names, without a prefix. */
  readonly bare: MetricFactory;
  readonly #all: Registry;
  readonly #process: string;
  /** The key is the histogram's name. */
  readonly #exemplars = new Map<string, ExemplarBook>();
  readonly #plain = new SharedReading(async () => ({
    contentType: this.#all.contentType,
    text: await this.text(),
  }));
  readonly #openMetrics = new SharedReading(async () => await this.#readOpenMetrics());

  constructor({ process, version }: MetricsConfig) {
    const registry = new Registry();
    super(registry, "capstan_");
    this.#all = registry;
    this.bare = new MetricFactory(registry, "");
    this.#process = process;
    this.#all.setDefaultLabels({ process });
    collectDefaultMetrics({ register: this.#all, prefix: "capstan_" });
    this.gauge("build_info", "Constant 1, with the version as a label.", ["version"]).set(
      { version },
      1,
    );
  }

  async text(): Promise<string> {
    return await this.#all.metrics();
  }

  /** The format follows the `Accept` header. OB15: one reading serves all who wait for it. */
  async exposition(accept: string | undefined): Promise<{ contentType: string; text: string }> {
    return await (prefersOpenMetrics(accept) ? this.#openMetrics : this.#plain).get();
  }

  async #readOpenMetrics(): Promise<{ contentType: string; text: string }> {
    const families = await Promise.all(
      this.#all.getMetricsAsArray().map((metric) => (metric as unknown as Readable).get()),
    );
    const told = families.map(
      (family) => this.#exemplars.get(family.name)?.addTo(family) ?? family,
    );
    const text = formatOpenMetrics(told, { process: this.#process });
    return { contentType: openMetricsContentType, text };
  }

  /** In seconds. Each observation names its work; OpenMetrics shows the last one of each bucket. */
  workHistogram<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): WorkHistogram<L> {
    const histogram = this.histogram(name, help, labelNames);
    const book = new ExemplarBook(latencyBuckets, () => realClock.wallMs());
    this.#exemplars.set(`capstan_${name}`, book);
    return {
      observe(labels, value, { queryId, workId }) {
        histogram.observe(labels, value);
        book.note(labels, value, { query_id: queryId, work_id: workId });
      },
    };
  }
}
