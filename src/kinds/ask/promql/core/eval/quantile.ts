/** The `quantile` of the values, interpolated between neighbours. Sorts `values`. */
export function quantileOf(quantile: number, values: Float64Array): number {
  if (values.length === 0 || Number.isNaN(quantile)) return Number.NaN;
  if (quantile < 0) return Number.NEGATIVE_INFINITY;
  if (quantile > 1) return Number.POSITIVE_INFINITY;
  sortNanFirst(values);
  const last = values.length - 1;
  const rank = quantile * last;
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(last, lower + 1);
  const weight = rank - Math.floor(rank);
  return (values[lower] as number) * (1 - weight) + (values[upper] as number) * weight;
}

/** Typed arrays sort NaN to the end; Prometheus sorts it first. */
function sortNanFirst(values: Float64Array): void {
  values.sort();
  let numbers = values.length;
  while (numbers > 0 && Number.isNaN(values[numbers - 1])) numbers -= 1;
  if (numbers === values.length) return;
  values.copyWithin(values.length - numbers, 0, numbers);
  values.fill(Number.NaN, 0, values.length - numbers);
}
