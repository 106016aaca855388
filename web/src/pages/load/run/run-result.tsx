/** A run that has ended. */
import { Anchor } from "@mantine/core";
import { IconFlag } from "@tabler/icons-react";
import { Empty } from "../../../components/empty.tsx";

export function RunResult({ runId }: { readonly runId: string }) {
  return (
    <div className="card">
      <Empty icon={IconFlag} title="The run has ended">
        <Anchor href={`/api/tests/${encodeURIComponent(runId)}/report.html`} size="sm">
          Its report
        </Anchor>
      </Empty>
    </div>
  );
}
