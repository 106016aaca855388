import type { MetricMetadata, SampleBatch } from "../../model.ts";

export interface DecodedWrite {
  readonly batch: SampleBatch;
  /** Of the samples, how many are histograms. */
  readonly histogramCount: number;
  /** What was refused before it came to storing, in Prometheus's words; the first `problemsMax` of them. */
  readonly problems: readonly string[];
  readonly problemCount: number;
}

/** A sender that does everything wrong gets an answer that can still be read. */
const problemsMax = 20;

export class ProblemList {
  readonly texts: string[] = [];
  count = 0;

  add(text: string): void {
    this.count += 1;
    if (this.texts.length < problemsMax) this.texts.push(text);
  }
}

/** In the order of both protocols' numbers. */
export const metricTypes: readonly MetricMetadata["type"][] = [
  "unknown",
  "counter",
  "gauge",
  "histogram",
  "gaugehistogram",
  "summary",
  "info",
  "stateset",
];
