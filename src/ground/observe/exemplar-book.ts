/** The last observation of each bucket of a histogram, with the work that it belongs to. */
import type { Exemplar, MetricFamily } from "./open-metrics.ts";

export class ExemplarBook {
  readonly #bounds: readonly number[];
  readonly #wallMs: () => number;
  /** The key is the labels and the bucket's upper bound; there are as many entries as buckets. */
  readonly #last = new Map<string, Exemplar>();

  constructor(bounds: readonly number[], wallMs: () => number) {
    this.#bounds = bounds;
    this.#wallMs = wallMs;
  }

  note(
    labels: Readonly<Record<string, string>>,
    value: number,
    labelSet: Exemplar["labelSet"],
  ): void {
    const bound = this.#bounds.find((each) => value <= each) ?? "+Inf";
    this.#last.set(keyOf(labels, bound), { labelSet, value, timestamp: this.#wallMs() / 1000 });
  }

  addTo(family: MetricFamily): MetricFamily {
    const values = family.values.map((sample) => {
      const { le, ...labels } = sample.labels;
      return le === undefined ? sample : { ...sample, exemplar: this.#last.get(keyOf(labels, le)) };
    });
    return { ...family, values };
  }
}

function keyOf(
  labels: Readonly<Record<string, string | number | undefined>>,
  bound: string | number,
): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([bound, sorted]);
}
