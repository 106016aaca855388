/** Functions of one number, and rounding. */
import { scalarAt, vectorAt } from "./arguments.ts";
import { mapFloats } from "./results.ts";
import type { InstantFunction } from "./types.ts";

/** Go's maximum: infinity wins over NaN. */
export function maxOf(a: number, b: number): number {
  if (a === Number.POSITIVE_INFINITY || b === Number.POSITIVE_INFINITY) {
    return Number.POSITIVE_INFINITY;
  }
  return Math.max(a, b);
}

/** Go's minimum: minus infinity wins over NaN. */
export function minOf(a: number, b: number): number {
  if (a === Number.NEGATIVE_INFINITY || b === Number.NEGATIVE_INFINITY) {
    return Number.NEGATIVE_INFINITY;
  }
  return Math.min(a, b);
}

const ofOneNumber: readonly (readonly [name: string, compute: (value: number) => number])[] = [
  ["abs", Math.abs],
  ["acos", Math.acos],
  ["acosh", Math.acosh],
  ["asin", Math.asin],
  ["asinh", Math.asinh],
  ["atan", Math.atan],
  ["atanh", Math.atanh],
  ["ceil", Math.ceil],
  ["cos", Math.cos],
  ["cosh", Math.cosh],
  ["deg", (value) => (value * 180) / Math.PI],
  ["exp", Math.exp],
  ["floor", Math.floor],
  ["ln", Math.log],
  ["log10", Math.log10],
  ["log2", Math.log2],
  ["rad", (value) => (value * Math.PI) / 180],
  ["sgn", Math.sign],
  ["sin", Math.sin],
  ["sinh", Math.sinh],
  ["sqrt", Math.sqrt],
  ["tan", Math.tan],
  ["tanh", Math.tanh],
];

/** Ties are rounded up. */
const round: InstantFunction = (args, context) => {
  const toNearest = args.length > 1 ? scalarAt(args, 1) : undefined;
  return mapFloats(vectorAt(args, 0), context, (value, step) => {
    // Multiplying by the inverse loses less than dividing.
    const inverse = 1 / (toNearest?.[step] ?? 1);
    return Math.floor(value * inverse + 0.5) / inverse;
  });
};

export const mathFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] = [
  ...ofOneNumber.map(
    ([name, compute]) =>
      [
        name,
        (args, context) => mapFloats(vectorAt(args, 0), context, (value) => compute(value)),
      ] satisfies [string, InstantFunction],
  ),
  ["round", round],
];
