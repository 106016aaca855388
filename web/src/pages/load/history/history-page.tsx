/** Runs of the past. */
import { Anchor } from "@mantine/core";
import { IconGauge } from "@tabler/icons-react";
import { Link } from "react-router";
import { Empty } from "../../../components/empty.tsx";

export function HistoryPage() {
  return (
    <div className="card">
      <Empty icon={IconGauge} title="Begin with a template">
        <Anchor component={Link} to="/load/templates" size="sm">
          To the templates
        </Anchor>
      </Empty>
    </div>
  );
}
