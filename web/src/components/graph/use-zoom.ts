import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import type { GraphLayout } from "./graph-layout.ts";

/** The margin around the graph, in pixels. */
export const graphMargin = 20;
const zoomMin = 0.4;
const zoomMax = 1.6;

export interface Zoom {
  readonly viewport: RefObject<HTMLDivElement | null>;
  readonly zoom: number;
  readonly setZoom: (zoom: number) => void;
  readonly fit: () => void;
}

/**
 * Starts with the whole graph in view, if it is still readable; a size that the user chose is kept.
 */
export function useZoom(layout: GraphLayout): Zoom {
  const viewport = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<number>();
  const [fitting, setFitting] = useState(1);
  useLayoutEffect(() => {
    const element = viewport.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const room = element.clientWidth / (layout.width + 2 * graphMargin);
      setFitting(Math.min(1, Math.max(0.6, room)));
    };
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => resized.disconnect();
  }, [layout]);
  return {
    viewport,
    zoom: chosen ?? fitting,
    setZoom: (zoom) => setChosen(Math.min(zoomMax, Math.max(zoomMin, zoom))),
    fit: () => setChosen(undefined),
  };
}
