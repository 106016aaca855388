/** The factor from the increase between the first and last sample to that over the whole window. */

/** A rate's window, apart from its samples. */
export interface RateShape {
  readonly isCounter: boolean;
  readonly isRate: boolean;
  readonly rangeSeconds: number;
}

/**
 * Samples as close to the window's edges as to each other cover all of it. Otherwise the series is
 * assumed to begin (end) half a gap beyond its first (last) sample. A counter does not begin before
 * it was zero; it begins at `startMs` if that is known (not NaN).
 */
export function extrapolationFactor(
  shape: RateShape,
  firstMs: number,
  lastMs: number,
  gapCount: number,
  windowStartMs: number,
  windowEndMs: number,
  firstValue: number,
  increase: number,
  startMs: number,
): number {
  let sampledSeconds = (lastMs - firstMs) / 1000;
  const gapSeconds = gapCount > 0 ? sampledSeconds / gapCount : 0;
  const closeSeconds = gapSeconds * 1.1;
  let toStart = 0;
  if (!Number.isNaN(startMs)) {
    sampledSeconds = (lastMs - startMs) / 1000;
  } else {
    toStart = (firstMs - windowStartMs) / 1000;
    if (toStart >= closeSeconds) toStart = gapSeconds / 2;
    if (shape.isCounter && increase > 0 && firstValue >= 0) {
      const toZero = sampledSeconds * (firstValue / increase);
      if (toZero < toStart) toStart = toZero;
    }
  }
  let toEnd = (windowEndMs - lastMs) / 1000;
  if (toEnd >= closeSeconds) toEnd = gapSeconds / 2;
  const factor = sampledSeconds === 0 ? 1 : (sampledSeconds + toStart + toEnd) / sampledSeconds;
  return shape.isRate ? factor / shape.rangeSeconds : factor;
}

/** Converts whole seconds and the rest separately, like Prometheus, for the last bit. */
export function toSeconds(durationMs: number): number {
  const whole = Math.trunc(durationMs / 1000);
  return whole + ((durationMs - whole * 1000) * 1e6) / 1e9;
}
