/** What stands on the edges of a graph, such as how much goes along them. */
import { VisuallyHidden } from "@mantine/core";
import { useMemo } from "react";
import type { GraphLayout } from "./graph-layout.ts";
import { placeLabels } from "./place-labels.ts";

export interface EdgeLook {
  /** At most two short ones. */
  readonly lines: readonly string[];
  readonly tone?: "warn" | "bad" | undefined;
  /** The whole of it, for the tooltip and for screen readers. */
  readonly description: string;
}

export type EdgeLookOf = (from: string, to: string) => EdgeLook | undefined;

interface EdgeLabelsProps {
  readonly layout: GraphLayout;
  readonly margin: number;
  readonly lookOf: EdgeLookOf;
  /** Whose edges are pointed at; the labels of the others are hidden. */
  readonly lit: ReadonlySet<string> | undefined;
}

export function EdgeLabels({ layout, margin, lookOf, lit }: EdgeLabelsProps) {
  const labels = useMemo(() => placeLabels(layout), [layout]);
  return (
    <ul className="edge-labels" style={{ inset: margin }}>
      {labels.map(({ from, to, x, y }) => {
        const look = lookOf(from, to);
        if (look === undefined || (lit !== undefined && !(lit.has(from) && lit.has(to)))) {
          return null;
        }
        return (
          <li
            key={`${from}\n${to}`}
            className="edge-label"
            style={{ left: x, top: y }}
            title={look.description}
            data-edge={`${from} ${to}`}
            data-tone={look.tone}
          >
            <VisuallyHidden>{look.description}</VisuallyHidden>
            {look.lines.map((line) => (
              <span key={line} aria-hidden="true">
                {line}
              </span>
            ))}
          </li>
        );
      })}
    </ul>
  );
}
