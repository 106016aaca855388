/** The bounds of the buckets of a schema. */
import { customBucketsSchema } from "./float-histogram.ts";

export const exponentialSchemaMin = -4;
export const exponentialSchemaMax = 8;

export function isExponentialSchema(schema: number): boolean {
  return schema >= exponentialSchemaMin && schema <= exponentialSchemaMax;
}

/**
 * 2 to the power of 2^-n, for n from 1: the factor between the bounds of schema n. Written out,
 * because bounds must have the same bits as in Prometheus on every machine, and powers have not.
 */
const growthFactors = [
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: Prometheus's is one bit less than Math.SQRT2.
  1.414213562373095,
  1.189207115002721, 1.0905077326652577, 1.0442737824274138, 1.0218971486541166, 1.0108892860517005,
  1.0054299011128027, 1.0027112750502025,
];

/**
 * For each schema from 0, the bounds from 0.5 to below 1. Every other one is in the schema before.
 */
const boundsBelowOne: readonly Float64Array[] = makeBoundsBelowOne();

function makeBoundsBelowOne(): Float64Array[] {
  const bySchema = [Float64Array.of(0.5)];
  for (const factor of growthFactors) {
    const coarser = bySchema.at(-1) as Float64Array;
    const bounds = new Float64Array(coarser.length * 2);
    for (const [index, bound] of coarser.entries()) {
      bounds[index * 2] = bound;
      bounds[index * 2 + 1] = bound * factor;
    }
    bySchema.push(bounds);
  }
  return bySchema;
}

const exponentMin = -1_074;
const exponentMax = 1_023;
const powersOfTwo = Float64Array.from({ length: exponentMax - exponentMin + 1 }, (_, index) =>
  powerOfTwo(index + exponentMin),
);

/** Exact, which `Math.pow` need not be. */
function powerOfTwo(exponent: number): number {
  let power = 1;
  const step = exponent < 0 ? 0.5 : 2;
  for (let count = Math.abs(exponent); count > 0; count -= 1) power *= step;
  return power;
}

/** fraction · 2^exponent, rounded once. */
function scaleByPower(fraction: number, exponent: number): number {
  if (exponent > exponentMax) {
    return exponent > exponentMax + 1
      ? Number.POSITIVE_INFINITY
      : fraction * 2 * (powersOfTwo[exponentMax - exponentMin] as number);
  }
  if (exponent < exponentMin) {
    return exponent < exponentMin - 1 ? 0 : (fraction / 2) * (powersOfTwo[0] as number);
  }
  return fraction * (powersOfTwo[exponent - exponentMin] as number);
}

/** The absolute upper bound of an exponential bucket. */
export function exponentialBound(index: number, schema: number): number {
  const fractions = boundsBelowOne[Math.max(schema, 0)] as Float64Array;
  const fraction = fractions[index & (fractions.length - 1)] as number;
  const exponent = schema < 0 ? index * 2 ** -schema + 1 : (index >> schema) + 1;
  // The bucket of the greatest finite numbers ends with them; the next one has the infinities.
  if (fraction === 0.5 && exponent === 1_025) return Number.MAX_VALUE;
  return scaleByPower(fraction, exponent);
}

/** The upper bound of a positive bucket; its lower bound is that of the index before. */
export function bucketBound(
  index: number,
  schema: number,
  customValues: readonly number[],
): number {
  if (schema !== customBucketsSchema) return exponentialBound(index, schema);
  if (index < 0) return Number.NEGATIVE_INFINITY;
  return customValues[index] ?? Number.POSITIVE_INFINITY;
}
