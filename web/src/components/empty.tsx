/** Says why there is nothing here, and what to do about it. */
import type { ComponentType, ReactNode } from "react";

interface EmptyProps {
  readonly icon: ComponentType<{ size?: number; stroke?: number; className?: string }>;
  readonly title: string;
  readonly children?: ReactNode;
}

export function Empty({ icon: Icon, title, children }: EmptyProps) {
  return (
    <div className="empty">
      <Icon size={28} stroke={1.4} className="empty-icon" />
      <strong>{title}</strong>
      {children}
    </div>
  );
}
