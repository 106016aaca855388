/**
 * Prometheus metrics of one process, by the names that docs and dashboards use. `work_id` and `query_id`
 * are never labels: there is no bound on how many there are. Worker names are not either, except where a
 * person must see which one it is and an operator bounds their number.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from "prom-client";

/** From a local round trip to a long query. */
const latencyBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

export interface MetricsConfig {
  /** `coordinator`, `query_api` or `worker`: a label of every metric. */
  readonly process: string;
  readonly version: string;
}

export class Metrics {
  readonly #registry = new Registry();

  constructor({ process, version }: MetricsConfig) {
    this.#registry.setDefaultLabels({ process });
    collectDefaultMetrics({ register: this.#registry, prefix: "capstan_" });
    this.gauge("build_info", "Constant 1, with the version as a label.", ["version"]).set(
      { version },
      1,
    );
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    return await this.#registry.metrics();
  }

  counter<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Counter<L> {
    return new Counter({ name: `capstan_${name}`, help, labelNames, registers: [this.#registry] });
  }

  /** With `read`, the value is asked for whenever somebody looks. */
  gauge<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    read?: () => number,
  ): Gauge<L> {
    const collect =
      read === undefined
        ? {}
        : {
            collect(this: Gauge<L>) {
              this.set(read());
            },
          };
    return new Gauge({
      name: `capstan_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      ...collect,
    });
  }

  /** One value for each set of labels that `read` gives when somebody looks; sets that it no longer gives are gone. */
  gauges<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: () => readonly { readonly labels: Readonly<Record<L, string>>; readonly value: number }[],
  ): void {
    new Gauge({
      name: `capstan_${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.set(labels, value);
      },
    });
  }

  /** Of seconds. */
  histogram<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Histogram<L> {
    return new Histogram({
      name: `capstan_${name}`,
      help,
      labelNames,
      buckets: latencyBuckets,
      registers: [this.#registry],
    });
  }

  /** Of seconds: p50, p95 and p99 of about the last ten minutes. */
  summary<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Summary<L> {
    return new Summary({
      name: `capstan_${name}`,
      help,
      labelNames,
      percentiles: [0.5, 0.95, 0.99],
      maxAgeSeconds: 600,
      ageBuckets: 5,
      pruneAgedBuckets: false,
      registers: [this.#registry],
    });
  }
}
