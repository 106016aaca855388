/**
 * Follows a table of the catalog by WATCH, as a signal only: what changed is read again, at most
 * every `spacingMs`, because lists have more than the change log. A hidden tab closes the stream.
 */
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import { useCluster } from "./cluster.ts";
import { Subscription } from "./subscription.ts";

const spacingMs = 700;

/** `select` is what stands behind WATCH; queries whose keys begin with `queryKey` are repeated. */
export function useWatched(select: string, queryKey: QueryKey): void {
  const queries = useQueryClient();
  const cluster = useCluster();
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden);
  const repeat = useEffectEvent(() => void queries.invalidateQueries({ queryKey }));
  useEffect(() => {
    if (!isVisible) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let revision: string | undefined;
    const changed = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        repeat();
      }, spacingMs);
    };
    const subscription = new Subscription({
      path: () => {
        const query = new URLSearchParams({ select });
        if (revision !== undefined) query.set("revision", revision);
        return `/api/v1/watch?${query}`;
      },
      silenceMsMax: 40_000,
      onEvent: ({ event, data }) => {
        revision = event === "error" ? undefined : revisionOf(data);
        changed();
      },
      onStatus: () => undefined, // The lists report by themselves when nobody answers.
      onUnauthenticated: () => cluster.promptForToken("refused"),
    });
    void subscription.run();
    return () => {
      clearTimeout(timer);
      subscription.stop();
    };
  }, [isVisible, cluster, select]);
}

function revisionOf(data: string): string {
  return String((JSON.parse(data) as { revision: number }).revision);
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
