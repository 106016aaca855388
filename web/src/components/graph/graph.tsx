/**
 * A graph of links, laid out from left to right. Keyboard and screen readers handle its nodes as
 * links; arrow keys follow the edges. A page draws its own nodes.
 */
import { type CSSProperties, type KeyboardEvent, type ReactNode, useMemo, useState } from "react";
import "./graph.css";
import { EdgeLabels, type EdgeLookOf } from "./edge-labels.tsx";
import { GraphEdges } from "./graph-edges.tsx";
import { GraphFoot } from "./graph-foot.tsx";
import {
  type GraphLayout,
  type GraphNode,
  type GraphSize,
  layOutGraph,
  type PlacedNode,
} from "./graph-layout.ts";
import { lineageOf, nextNode } from "./lineage.ts";
import { usePanning } from "./use-panning.ts";
import { graphMargin, useZoom } from "./use-zoom.ts";

/** The properties that a node's link needs. */
export interface NodeProps {
  readonly className: string;
  readonly style: CSSProperties;
  readonly "data-node": string;
  readonly draggable: false;
  readonly onPointerEnter: () => void;
  readonly onPointerLeave: () => void;
  readonly onFocus: () => void;
  readonly onBlur: () => void;
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

interface GraphProps<Node extends GraphNode> {
  /** The accessible name. */
  readonly label: string;
  readonly nodes: readonly Node[];
  readonly size: GraphSize;
  /** The nodes that match a filter; the others fade. Undefined without a filter. */
  readonly found?: ReadonlySet<string> | undefined;
  readonly hint: string;
  /** A link with these properties, and the node's contents. */
  readonly renderNode: (node: Node, props: NodeProps) => ReactNode;
  /** What stands on an edge, where anything does. */
  readonly edgeLook?: EdgeLookOf;
}

export function Graph<Node extends GraphNode>(props: GraphProps<Node>) {
  const { label, nodes, size, found, hint, renderNode, edgeLook } = props;
  const layout = useLayout(nodes, size);
  const [pointed, setPointed] = useState<string>();
  const lineage = useMemo(
    () => (pointed === undefined ? undefined : lineageOf(layout.edges, pointed)),
    [layout, pointed],
  );
  const view = useZoom(layout);
  const { viewport, zoom } = view;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const lit = lineage ?? found;
  const width = (layout.width + 2 * graphMargin) * zoom;
  const height = (layout.height + 2 * graphMargin) * zoom;
  return (
    <section className="graph" aria-label={label}>
      <div className="graph-view" ref={viewport} {...usePanning()}>
        <div className="graph-room" style={{ width, height }}>
          <div
            className="graph-sheet"
            style={{ transform: `scale(${zoom})`, padding: graphMargin }}
          >
            <GraphEdges layout={layout} lit={lineage} found={found} lookOf={edgeLook} />
            {edgeLook && (
              <EdgeLabels layout={layout} margin={graphMargin} lookOf={edgeLook} lit={lit} />
            )}
            <ul className="graph-nodes" style={{ inset: graphMargin }}>
              {layout.nodes.map((placed) => {
                const node = byId.get(placed.id);
                if (node === undefined) return null;
                const isFaded = lit !== undefined && !lit.has(placed.id);
                const link = nodeProps(placed, layout, size, isFaded, setPointed);
                return <li key={placed.id}>{renderNode(node, link)}</li>;
              })}
            </ul>
          </div>
        </div>
      </div>
      <GraphFoot hint={hint} view={view} />
    </section>
  );
}

/** Only ids and edges decide where nodes stand; what nodes show does not. */
function useLayout(nodes: readonly GraphNode[], size: GraphSize): GraphLayout {
  const key = JSON.stringify(nodes.map(({ id, sources }) => [id, ...sources]).sort());
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` is what `nodes` say about places.
  return useMemo(() => layOutGraph(nodes, size), [key, size]);
}

function nodeProps(
  placed: PlacedNode,
  layout: GraphLayout,
  { width, height }: GraphSize,
  isFaded: boolean,
  onPoint: (id: string | undefined) => void,
): NodeProps {
  const { id, x, y } = placed;
  return {
    className: `node${isFaded ? " node-faded" : ""}`,
    style: { left: x, top: y, width, height },
    "data-node": id,
    draggable: false,
    onPointerEnter: () => onPoint(id),
    onPointerLeave: () => onPoint(undefined),
    onFocus: () => onPoint(id),
    onBlur: () => onPoint(undefined),
    onKeyDown: (event) => {
      const next = nextNode(layout, placed, event.key);
      if (next === undefined) return;
      event.preventDefault();
      const links = event.currentTarget.closest("ul")?.querySelectorAll<HTMLElement>("a");
      for (const link of links ?? []) if (link.dataset.node === next) link.focus();
    },
  };
}
