/** A native histogram as Prometheus's API writes it. */
import { type FloatHistogram, populatedBuckets } from "../promql/core/index.ts";
import type { JsonSink } from "./json-sink.ts";

export function writeHistogram(sink: JsonSink, histogram: FloatHistogram): void {
  sink.ascii('{"count":');
  sink.quotedFloat(histogram.count);
  sink.ascii(',"sum":');
  sink.quotedFloat(histogram.sum);
  const buckets = populatedBuckets(histogram);
  for (const [index, { lower, upper, count, ...bounds }] of buckets.entries()) {
    sink.ascii(index === 0 ? ',"buckets":[[' : ",[");
    sink.ascii(`${boundaryRule(bounds.lowerInclusive, bounds.upperInclusive)},`);
    sink.quotedFloat(lower);
    sink.ascii(",");
    sink.quotedFloat(upper);
    sink.ascii(",");
    sink.quotedFloat(count);
    sink.ascii("]");
  }
  sink.ascii(buckets.length > 0 ? "]}" : "}");
}

/** 0: open on the left, 1: open on the right, 2: open on both sides, 3: closed. */
function boundaryRule(lowerInclusive: boolean, upperInclusive: boolean): 0 | 1 | 2 | 3 {
  if (lowerInclusive) return upperInclusive ? 3 : 1;
  return upperInclusive ? 0 : 2;
}
