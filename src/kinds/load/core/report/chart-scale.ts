/** Axes: where ticks are, and how figures are written. */

/** About `count` round numbers from 0 to at least `max`. */
export function linearTicks(max: number, count = 4): readonly number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each >= rough) ?? rough;
  const ticks = Math.ceil(max / step - 1e-9);
  return Array.from({ length: ticks + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

/** 1, 2 and 5 times each power of ten; only the powers when those are too many. */
export function logTicks(min: number, max: number): readonly number[] {
  const from = Math.floor(Math.log10(min));
  const to = Math.ceil(Math.log10(max));
  const steps = to - from > 3 ? [1] : [1, 2, 5];
  return Array.from({ length: to - from + 1 }, (_, at) => at + from)
    .flatMap((power) => steps.map((step) => step * 10 ** power))
    .filter((tick) => tick >= min && tick <= max);
}

export function formatCount(value: number): string {
  const amount = Math.abs(value);
  if (amount >= 1e9) return `${trim(value / 1e9)} G`;
  if (amount >= 1e6) return `${trim(value / 1e6)} M`;
  return amount >= 10_000 ? `${trim(value / 1e3)} k` : trim(value);
}

export function formatMs(ms: number | null): string {
  if (ms === null) return "–";
  if (ms >= 1_000) return `${trim(ms / 1_000)} s`;
  return ms >= 1 || ms === 0 ? `${trim(ms)} ms` : `${trim(ms * 1_000)} µs`;
}

function trim(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number(value.toFixed(digits)).toString();
}
