/** Shows whether the data are current. */
import { Button } from "@mantine/core";
import { IconBroadcast, IconLoader2, IconPlugConnectedX } from "@tabler/icons-react";
import { useCluster, useClusterState } from "../api/cluster.ts";
import type { ClusterState } from "../api/cluster-state.ts";

/** Whether either stream is down, so that rows or numbers may be out of date. */
export function isLost(state: ClusterState): boolean {
  return state.liveLink.kind === "lost" || state.watchLink.kind === "lost";
}

/** The class of everything that shows the cluster's data. */
export function useStaleClass(): string {
  return useClusterState(isLost) ? "stale" : "";
}

export function ConnectionSign() {
  const lost = useClusterState(isLost);
  const open = useClusterState((state) => state.liveLink.kind === "open");
  if (lost) {
    return (
      <span className="state dim">
        <IconPlugConnectedX size={15} className="tone-bad" /> Reconnecting…
      </span>
    );
  }
  return (
    <span className="state dim">
      <IconBroadcast size={15} className={open ? "tone-good" : "tone-dim"} />
      {open ? "Live" : "Connecting…"}
    </span>
  );
}

export function ConnectionBanner() {
  const cluster = useCluster();
  const lost = useClusterState(isLost);
  const message = useClusterState(lossMessage);
  if (!lost) return null;
  return (
    <div className="banner">
      <span className="state">
        <IconLoader2 size={15} className="tone-warn spin" /> Reconnecting…
      </span>
      <span>{message} What is shown may be out of date.</span>
      <Button className="push" variant="default" onClick={() => cluster.reconnect()}>
        Try now
      </Button>
    </div>
  );
}

function lossMessage({ liveLink, watchLink }: ClusterState): string {
  if (liveLink.kind === "lost") return liveLink.message;
  return watchLink.kind === "lost" ? watchLink.message : "";
}
