/** Statistics of the series, for people who look for what grew. */
interface Stat {
  readonly name: string;
  readonly value: number;
}

export interface Cardinalities {
  readonly pairCount: number;
  readonly seriesCountByMetricName: readonly Stat[];
  readonly labelValueCountByLabelName: readonly Stat[];
  readonly memoryInBytesByLabelName: readonly Stat[];
  readonly seriesCountByLabelValuePair: readonly Stat[];
}

/** The `limit` largest of each statistic. */
export function cardinalities(
  series: readonly Readonly<Record<string, string>>[],
  limit: number,
): Cardinalities {
  const metrics = new Map<string, number>();
  const values = new Map<string, Set<string>>();
  const pairs = new Map<string, number>();
  for (const labels of series) {
    for (const [name, value] of Object.entries(labels)) {
      if (name === "__name__") metrics.set(value, (metrics.get(value) ?? 0) + 1);
      const known = values.get(name) ?? new Set();
      values.set(name, known.add(value));
      const pair = `${name}=${value}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
    }
  }
  const bytes = [...values].map(([name, texts]): [string, number] => {
    let total = 0;
    for (const text of texts) total += Buffer.byteLength(text);
    return [name, total];
  });
  return {
    pairCount: pairs.size,
    seriesCountByMetricName: largest(metrics, limit),
    labelValueCountByLabelName: largest(
      [...values].map(([name, texts]): [string, number] => [name, texts.size]),
      limit,
    ),
    memoryInBytesByLabelName: largest(bytes, limit),
    seriesCountByLabelValuePair: largest(pairs, limit),
  };
}

function largest(counts: Iterable<[string, number]>, limit: number): Stat[] {
  const stats = Array.from(counts, ([name, value]) => ({ name, value }));
  stats.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
  return stats.slice(0, limit);
}
