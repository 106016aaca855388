/** Where the labels of edges stand. Pure. */
import type { GraphLayout, Point } from "./graph-layout.ts";

export interface PlacedLabel extends Point {
  readonly from: string;
  readonly to: string;
}

/**
 * Each label is on its edge, between the first two levels that it joins. Edges of one node have
 * theirs one after the other along the way, so that they stay apart where the edges cross.
 */
export function placeLabels({ edges }: Pick<GraphLayout, "edges">): readonly PlacedLabel[] {
  return [...Map.groupBy(edges, ({ from }) => from)].flatMap(([from, ofNode]) => {
    const sorted = ofNode.toSorted((a, b) => endOf(a.points) - endOf(b.points));
    return sorted.flatMap(({ to, points }, index): PlacedLabel[] => {
      const [start, end] = points;
      if (start === undefined || end === undefined) return [];
      return [{ from, to, ...alongCurve(start, end, (index + 1) / (sorted.length + 1)) }];
    });
  });
}

function endOf(points: readonly Point[]): number {
  return points[1]?.y ?? 0;
}

/** On the curve that `GraphEdges` draws; `share` is of its parameter, from 0 to 1. */
function alongCurve(start: Point, end: Point, share: number): Point {
  const half = (start.x + end.x) / 2;
  const rest = 1 - share;
  const [first, second, third, last] = [
    rest ** 3,
    3 * rest ** 2 * share,
    3 * rest * share ** 2,
    share ** 3,
  ];
  return {
    x: first * start.x + (second + third) * half + last * end.x,
    y: (first + second) * start.y + (third + last) * end.y,
  };
}
