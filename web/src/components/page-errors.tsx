/** Shown instead of a page. */
import { Anchor, Button } from "@mantine/core";
import { IconAlertTriangle, IconMap2 } from "@tabler/icons-react";
import { Link, useRouteError } from "react-router";
import { Empty } from "./empty.tsx";

export function NotFound() {
  return (
    <div className="page">
      <Empty icon={IconMap2} title="There is no such page">
        <Anchor component={Link} to="/" size="sm">
          To the overview
        </Anchor>
      </Empty>
    </div>
  );
}

/** Also shown when the dashboard was rebuilt and this page's code is no longer served. */
export function PageCrashed() {
  const error = useRouteError();
  return (
    <div className="page" role="alert">
      <Empty icon={IconAlertTriangle} title="This page could not be shown">
        <span className="mono">{error instanceof Error ? error.message : String(error)}</span>
        <Button variant="default" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </Empty>
    </div>
  );
}
