/** A titled part of a page. */
import { type ReactNode, useId } from "react";

interface CardProps {
  readonly title: string;
  /** Sits at the right of the title. */
  readonly aside?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Card({ title, aside, className = "", children }: CardProps) {
  const titleId = useId();
  return (
    <section className={`card ${className}`} aria-labelledby={titleId}>
      <div className="card-head">
        <h2 id={titleId}>{title}</h2>
        {aside !== undefined && <div className="push">{aside}</div>}
      </div>
      {children}
    </section>
  );
}
