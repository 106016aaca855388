/** Scales, compacts and coarsens histograms. */
import { customBucketsSchema, type FloatHistogram } from "./float-histogram.ts";
import { coarsenSide, compactSide, emptySide } from "./layout.ts";
import { negativeSide, positiveSide, withSides } from "./zero-bucket.ts";

/** A negative factor makes it a gauge. */
export function scaleHistogram(histogram: FloatHistogram, factor: number): FloatHistogram {
  return {
    ...histogram,
    counterResetHint: factor < 0 ? "gauge" : histogram.counterResetHint,
    zeroCount: histogram.zeroCount * factor,
    count: histogram.count * factor,
    sum: histogram.sum * factor,
    positiveBuckets: scaled(histogram.positiveBuckets, factor),
    negativeBuckets: scaled(histogram.negativeBuckets, factor),
  };
}

function scaled(buckets: readonly number[], factor: number): number[] {
  const products = buckets.slice();
  for (let index = 0; index < products.length; index += 1) {
    products[index] = (products[index] as number) * factor;
  }
  return products;
}

/** Differs from scaling by the inverse in the last bit. Dividing by zero removes the buckets. */
export function divideHistogram(histogram: FloatHistogram, divisor: number): FloatHistogram {
  const totals = {
    ...histogram,
    zeroCount: histogram.zeroCount / divisor,
    count: histogram.count / divisor,
    sum: histogram.sum / divisor,
  };
  if (divisor === 0) return withSides(totals, emptySide, emptySide);
  return {
    ...totals,
    counterResetHint: divisor < 0 ? "gauge" : histogram.counterResetHint,
    positiveBuckets: divided(histogram.positiveBuckets, divisor),
    negativeBuckets: divided(histogram.negativeBuckets, divisor),
  };
}

function divided(buckets: readonly number[], divisor: number): number[] {
  const quotients = buckets.slice();
  for (let index = 0; index < quotients.length; index += 1) {
    quotients[index] = (quotients[index] as number) / divisor;
  }
  return quotients;
}

/** Removes empty buckets. Returns the same histogram if there are none. */
export function compactHistogram(histogram: FloatHistogram): FloatHistogram {
  const positiveBefore = positiveSide(histogram);
  const negativeBefore = negativeSide(histogram);
  const positive = compactSide(positiveBefore);
  const negative = compactSide(negativeBefore);
  if (positive === positiveBefore && negative === negativeBefore) return histogram;
  return withSides(histogram, positive, negative);
}

/** Converts to a coarser schema. Neither may have custom buckets. */
export function reduceResolution(histogram: FloatHistogram, schema: number): FloatHistogram {
  if (histogram.schema === customBucketsSchema || schema === customBucketsSchema) {
    throw new Error("custom buckets have no resolution to reduce");
  }
  if (schema >= histogram.schema) {
    throw new Error(`cannot reduce the resolution from schema ${histogram.schema} to ${schema}`);
  }
  const shift = histogram.schema - schema;
  const positive = coarsenSide(positiveSide(histogram), shift);
  const negative = coarsenSide(negativeSide(histogram), shift);
  return withSides({ ...histogram, schema }, positive, negative);
}

/** Returns the same histogram if it has the schema. A coarser copy has an unknown reset hint. */
export function copyToSchema(histogram: FloatHistogram, schema: number): FloatHistogram {
  if (schema === histogram.schema) return histogram;
  return { ...reduceResolution(histogram, schema), counterResetHint: "unknown" };
}
