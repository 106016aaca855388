/** Says why there is nothing here, and what to do about it. */
import { Anchor } from "@mantine/core";
import { IconDatabaseOff, IconMap2, IconSearchOff } from "@tabler/icons-react";
import type { ComponentType, ReactNode } from "react";
import { Link } from "react-router";
import { ApiError } from "../api/http.ts";

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

/** Shown when nothing matches a filter. */
export function NoMatch({
  what,
  count,
  onAll,
}: {
  readonly what: string;
  readonly count?: number;
  readonly onAll: () => void;
}) {
  return (
    <Empty icon={IconSearchOff} title={`No ${what} matches`}>
      <button type="button" className="quiet" onClick={onAll}>
        Show all {count ?? `${what}s`}
      </button>
    </Empty>
  );
}

interface UnreadableProps {
  readonly what: string;
  readonly error: Error;
  /** Why a single item may be absent; shown for status 404. */
  readonly gone?: string;
  /** A link to the list of such items. */
  readonly back?: { readonly to: string; readonly text: string };
}

/** Shown when `what` could not be read from the API, with the reason. */
export function Unreadable({ what, error, gone, back }: UnreadableProps) {
  const { status, hint } = error instanceof ApiError ? error : { status: 0, hint: undefined };
  const isGone = status === 404 && gone !== undefined;
  return (
    <div role="alert">
      <Empty
        icon={isGone ? IconMap2 : IconDatabaseOff}
        title={isGone ? `There is no such ${what}` : `The ${what} cannot be read`}
      >
        <span>{isGone ? gone : error.message}</span>
        {!isGone && hint !== undefined && <span>{hint}</span>}
        {back && (
          <Anchor component={Link} to={back.to} size="sm">
            {back.text}
          </Anchor>
        )}
      </Empty>
    </div>
  );
}
