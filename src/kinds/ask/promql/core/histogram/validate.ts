/** Checks a histogram from outside. Messages are Prometheus's, because senders see them. */
import { formatGeneral } from "../go-format.ts";
import { exponentialSchemaMax, exponentialSchemaMin, isExponentialSchema } from "./bounds.ts";
import { customBucketsSchema, type FloatHistogram, type Span } from "./float-histogram.ts";

const negativeBucketCount = "histogram has a bucket whose observation count is negative";
/** Bucket indexes have 32 bits. */
const indexMax = 2 ** 31 - 1;
const bucketMismatch = "histogram spans specify different number of buckets than provided";

/** Returns what is wrong, or undefined. */
export function histogramFault(histogram: FloatHistogram): string | undefined {
  return (
    schemaFault(histogram) ??
    (histogram.count < 0
      ? `observation count is  ${formatGeneral(histogram.count)}: histogram's observation count is negative`
      : undefined) ??
    bucketsFault("positive side", histogram.positiveBuckets)
  );
}

function schemaFault(histogram: FloatHistogram): string | undefined {
  const { schema } = histogram;
  if (schema === customBucketsSchema) return customFault(histogram);
  if (isExponentialSchema(schema) && Number.isInteger(schema)) return exponentialFault(histogram);
  return (
    `histogram has an invalid schema, which must be between ${exponentialSchemaMin} and ${exponentialSchemaMax} ` +
    `for exponential buckets, or ${customBucketsSchema} for custom buckets, got schema ${schema}`
  );
}

function exponentialFault(histogram: FloatHistogram): string | undefined {
  const { positiveSpans, positiveBuckets, negativeSpans, negativeBuckets, zeroCount } = histogram;
  const fault =
    spansFault("positive side", positiveSpans, positiveBuckets.length, 1) ??
    spansFault("negative side", negativeSpans, negativeBuckets.length, 1) ??
    bucketsFault("negative side", negativeBuckets);
  if (fault !== undefined) return fault;
  if (zeroCount < 0) {
    return `zero bucket has observation count of ${formatGeneral(zeroCount)}: ${negativeBucketCount}`;
  }
  if (histogram.customValues.length > 0) {
    return "histogram with exponential schema must not have custom bounds";
  }
  return undefined;
}

function customFault(histogram: FloatHistogram): string | undefined {
  const { customValues, positiveSpans, positiveBuckets } = histogram;
  const fault =
    boundsFault(customValues) ??
    spansFault("custom buckets", positiveSpans, positiveBuckets.length, 0);
  if (fault !== undefined) return fault;
  const reach = positiveSpans.reduce((total, { offset, length }) => total + offset + length, 0);
  if (customValues.length + 1 < reach) {
    return (
      `custom buckets: only ${customValues.length} custom bounds defined which is insufficient to cover ` +
      `total span length of ${reach}: histogram custom bounds are too few`
    );
  }
  if (histogram.zeroCount !== 0) return "custom buckets: must have zero count of 0";
  if (histogram.zeroThreshold !== 0) return "custom buckets: must have zero threshold of 0";
  if (histogram.negativeSpans.length > 0) return "custom buckets: must not have negative spans";
  if (histogram.negativeBuckets.length > 0) return "custom buckets: must not have negative buckets";
  return undefined;
}

function boundsFault(bounds: readonly number[]): string | undefined {
  let before = Number.NEGATIVE_INFINITY;
  for (const [index, bound] of bounds.entries()) {
    if (Number.isNaN(bound)) return "custom buckets: histogram custom bounds must not be NaN";
    if (index > 0 && bound <= before) {
      return (
        `custom buckets: previous bound is ${before.toFixed(6)} and current is ${bound.toFixed(6)}: ` +
        "histogram custom bounds must be in strictly increasing order"
      );
    }
    before = bound;
  }
  if (before === Number.POSITIVE_INFINITY) {
    return "custom buckets: last +Inf bound must not be explicitly defined: histogram custom bounds must be finite";
  }
  return undefined;
}

/** Only the first `freeCount` spans may have a negative offset. */
function spansFault(
  where: string,
  spans: readonly Span[],
  bucketCount: number,
  freeCount: number,
): string | undefined {
  let total = 0;
  let end = 0;
  for (const [index, { offset, length }] of spans.entries()) {
    const span = `${where}: span number ${index + 1} with offset ${offset}`;
    if (index >= freeCount && offset < 0) {
      return `${span}: histogram has a span whose offset is negative`;
    }
    total += length;
    end += offset + length;
    if (Math.abs(offset) > indexMax || Math.abs(end) > indexMax) {
      return `${span}: histogram has a span out of range`;
    }
  }
  return total === bucketCount
    ? undefined
    : `${where}: spans need ${total} buckets, have ${bucketCount} buckets: ${bucketMismatch}`;
}

function bucketsFault(where: string, buckets: readonly number[]): string | undefined {
  const at = buckets.findIndex((count) => count < 0);
  return at === -1
    ? undefined
    : `${where}: bucket number ${at + 1} has observation count of ${formatGeneral(buckets[at] as number)}: ${negativeBucketCount}`;
}
