import type { EdgeLookOf } from "./edge-labels.tsx";
import type { GraphLayout, PlacedEdge, Point } from "./graph-layout.ts";

interface GraphEdgesProps {
  readonly layout: GraphLayout;
  readonly lit: ReadonlySet<string> | undefined;
  readonly found: ReadonlySet<string> | undefined;
  readonly lookOf: EdgeLookOf | undefined;
}

export function GraphEdges({ layout, lit, found, lookOf }: GraphEdgesProps) {
  const classOf = ({ from, to }: PlacedEdge): string => {
    const isOf = (nodes: ReadonlySet<string>): boolean => nodes.has(from) && nodes.has(to);
    if (lit !== undefined) return isOf(lit) ? "edge edge-lit" : "edge edge-faded";
    return found === undefined || isOf(found) ? "edge" : "edge edge-faded";
  };
  return (
    <svg className="graph-edges" width={layout.width} height={layout.height} aria-hidden="true">
      {layout.edges.map((edge) => (
        <path
          key={`${edge.from}\n${edge.to}`}
          className={classOf(edge)}
          data-tone={lookOf?.(edge.from, edge.to)?.tone}
          d={pathOf(edge.points)}
        />
      ))}
    </svg>
  );
}

/** Straight within a level, curved between levels. */
function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${round(first.y)}`;
  let last = first;
  for (const [index, point] of rest.entries()) {
    if (index % 2 === 1) {
      path += `H${point.x}`;
    } else {
      const half = (point.x - last.x) / 2;
      path += `C${last.x + half} ${round(last.y)} ${point.x - half} ${round(point.y)} ${point.x} ${round(point.y)}`;
    }
    last = point;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
