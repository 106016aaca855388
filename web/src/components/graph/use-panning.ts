import { type PointerEvent, useRef } from "react";
import type { Point } from "./graph-layout.ts";

interface Panning {
  readonly onPointerDown: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerMove: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerUp: () => void;
  readonly onPointerCancel: () => void;
}

/** A mouse drags the sheet; fingers scroll it as usual. */
export function usePanning(): Panning {
  const from = useRef<Point>(undefined);
  const end = (): void => {
    from.current = undefined;
  };
  return {
    onPointerDown: ({ pointerType, button, clientX: x, clientY: y, target }) => {
      const onLink = target instanceof Element && target.closest("a") !== null;
      if (pointerType === "mouse" && button === 0 && !onLink) from.current = { x, y };
    },
    onPointerMove: ({ currentTarget, clientX: x, clientY: y, buttons }) => {
      if (buttons === 0) end();
      if (from.current === undefined) return;
      currentTarget.scrollBy(from.current.x - x, from.current.y - y);
      from.current = { x, y };
    },
    onPointerUp: end,
    onPointerCancel: end,
  };
}
