/** Tells screen readers what is visible to others: changes of workers and of the connection. */
import { VisuallyHidden } from "@mantine/core";
import { useClusterState } from "../api/cluster.ts";
import { isLost } from "./connection.tsx";
import { conditionWord } from "./state-sign.tsx";

export function Announcer() {
  const lost = useClusterState(isLost);
  const change = useClusterState((state) => state.changes[0]);
  return (
    <>
      <VisuallyHidden role="status" aria-label="Connection">
        {lost && "Reconnecting to the coordinator. What is shown may be out of date."}
      </VisuallyHidden>
      <VisuallyHidden role="status" aria-label="Worker changes">
        {change !== undefined &&
          `${change.workerId}: ${conditionWord(change.condition)}. ${change.reason}`}
      </VisuallyHidden>
    </>
  );
}
