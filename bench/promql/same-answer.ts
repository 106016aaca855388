/**
 * Whether two answers of Prometheus's API say the same: the same series, the same times, values to
 * 1e-9.
 */

interface ApiAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly resultType: string; readonly result: unknown };
}
type ApiPoint = readonly [time: number, value: string];
interface ApiSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: ApiPoint;
  readonly values?: readonly ApiPoint[];
}

const toleranceMax = 1e-9;

/** What differs first, or `undefined`. */
export function firstDifference(oursText: string, theirsText: string): string | undefined {
  const ours = JSON.parse(oursText) as ApiAnswer;
  const theirs = JSON.parse(theirsText) as ApiAnswer;
  if (ours.status !== theirs.status) return `${ours.status} ${ours.error}, not ${theirs.status}`;
  if (ours.data?.resultType !== theirs.data?.resultType) {
    return `a ${ours.data?.resultType}, not a ${theirs.data?.resultType}`;
  }
  if (ours.data?.resultType === "scalar") {
    return pointDifference("scalar", ours.data.result as ApiPoint, theirs.data?.result as ApiPoint);
  }
  const ourSeries = byLabels(ours.data?.result as ApiSeries[]);
  const theirSeries = byLabels(theirs.data?.result as ApiSeries[]);
  for (const [labels, series] of theirSeries) {
    const other = ourSeries.get(labels);
    if (other === undefined) return `${labels} is missing`;
    const [points, otherPoints] = [pointsOf(series), pointsOf(other)];
    if (points.length !== otherPoints.length) {
      return `${labels} has ${otherPoints.length} points, not ${points.length}`;
    }
    for (const [index, point] of points.entries()) {
      const difference = pointDifference(labels, otherPoints[index] as ApiPoint, point);
      if (difference !== undefined) return difference;
    }
  }
  const surplus = [...ourSeries.keys()].find((labels) => !theirSeries.has(labels));
  return surplus === undefined ? undefined : `${surplus} is not in Prometheus's answer`;
}

/** How many points an answer has; NaN if it is an error. */
export function countPoints(text: string): number {
  const answer = JSON.parse(text) as ApiAnswer;
  if (answer.status !== "success") return Number.NaN;
  if (answer.data?.resultType === "scalar") return 1;
  const series = answer.data?.result as ApiSeries[];
  return series.reduce((sum, each) => sum + pointsOf(each).length, 0);
}

function byLabels(series: readonly ApiSeries[]): Map<string, ApiSeries> {
  return new Map(series.map((each) => [JSON.stringify(Object.entries(each.metric).sort()), each]));
}

function pointsOf({ value, values }: ApiSeries): readonly ApiPoint[] {
  return values ?? (value === undefined ? [] : [value]);
}

function pointDifference(labels: string, ours: ApiPoint, theirs: ApiPoint): string | undefined {
  if (ours[0] !== theirs[0]) return `${labels} has a point at ${ours[0]}, not at ${theirs[0]}`;
  if (ours[1] === theirs[1]) return undefined;
  const [a, b] = [Number(ours[1]), Number(theirs[1])];
  const near = Math.abs(a - b) <= toleranceMax * Math.max(Math.abs(a), Math.abs(b));
  return near ? undefined : `${labels} at ${ours[0]} is ${ours[1]}, not ${theirs[1]}`;
}
