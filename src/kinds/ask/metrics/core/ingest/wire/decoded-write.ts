import type { MetricMetadata, SampleBatch } from "../../model.ts";
import type { BatchBuilder } from "../batch-builder.ts";

export interface DecodedWrite {
  readonly batch: SampleBatch;
  /** How many of the samples are histograms. */
  readonly histogramCount: number;
  /** What the decoder refused, in Prometheus's words; the first `problemsMax` problems. */
  readonly problems: readonly string[];
  readonly problemCount: number;
}

/** Keeps the answer readable for a sender that does everything wrong. */
const problemsMax = 20;

export class ProblemList {
  readonly texts: string[] = [];
  count = 0;

  add(text: string): void {
    this.count += 1;
    if (this.texts.length < problemsMax) this.texts.push(text);
  }
}

export function decodedWrite(builder: BatchBuilder, problems: ProblemList): DecodedWrite {
  return {
    batch: builder.build(),
    histogramCount: builder.histogramCount,
    problems: problems.texts,
    problemCount: problems.count,
  };
}

/** In the order of their numbers in both protocols. */
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
