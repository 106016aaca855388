/**
 * A number with its name above and a note below; several stand in a `<dl className="card
 * figures-strip">`.
 */
import type { ReactNode } from "react";

interface FigureProps {
  readonly name: string;
  readonly note: string;
  readonly children: ReactNode;
}

export function Figure({ name, note, children }: FigureProps) {
  return (
    <div className="figure-cell">
      <dt>{name}</dt>
      <dd>
        <span className="figure-value">{children}</span>
        <span className="figure-note" title={note}>
          {note}
        </span>
      </dd>
    </div>
  );
}
