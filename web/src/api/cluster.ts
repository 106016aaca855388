/**
 * The page's live picture of the cluster: two subscriptions feed one state. A hidden tab closes
 * both after a while, because the coordinator limits the number of streams.
 */
import { createContext, useContext, useSyncExternalStore } from "react";
import {
  type ClusterEvent,
  type ClusterState,
  initialCluster,
  stepCluster,
} from "./cluster-state.ts";
import type { LiveFrame, WatchMessage } from "./gen/types.ts";
import { storeToken } from "./http.ts";
import type { SseEvent } from "./sse.ts";
import { Subscription } from "./subscription.ts";

const hiddenMsMax = 20_000;

export class Cluster {
  #state = initialCluster;
  #listeners = new Set<() => void>();
  #subscriptions: readonly Subscription[] = [];
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;

  readonly state = (): ClusterState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  start(): void {
    document.addEventListener("visibilitychange", () => this.#visibilityChanged());
    window.addEventListener("online", () => this.reconnect());
    this.#connect();
  }

  /** Dials at once instead of waiting for the next attempt. */
  reconnect(): void {
    for (const subscription of this.#subscriptions) subscription.wake();
  }

  acceptToken(token: string): void {
    storeToken(token);
    this.promptForToken("closed");
    this.reconnect();
  }

  /** Any request may find that a token is needed, not only the subscriptions. */
  promptForToken(prompt: ClusterState["tokenPrompt"]): void {
    this.#dispatch({ kind: "tokenPrompt", prompt });
  }

  #connect(): void {
    const watch = this.#subscription("watch", {
      path: () => {
        const { revision } = this.#state;
        return `/api/v1/watch?table=workers${revision === undefined ? "" : `&revision=${revision}`}`;
      },
      silenceMsMax: 40_000, // The server sends something at least every 15 s.
      take: ({ event, data }) => {
        if (event === "error") this.#dispatch({ kind: "watchRefused" });
        else this.#dispatch({ kind: "watched", event: parseWatch(data), nowMs: Date.now() });
      },
    });
    const live = this.#subscription("live", {
      path: () => "/api/v1/live",
      silenceMsMax: 5_000, // The server sends one frame a second.
      take: ({ data }) => this.#dispatch({ kind: "live", frame: JSON.parse(data) as LiveFrame }),
    });
    this.#subscriptions = [watch, live];
    for (const subscription of this.#subscriptions) void subscription.run();
  }

  #subscription(
    stream: "watch" | "live",
    options: { path: () => string; silenceMsMax: number; take: (event: SseEvent) => void },
  ): Subscription {
    return new Subscription({
      path: options.path,
      silenceMsMax: options.silenceMsMax,
      onEvent: options.take,
      onStatus: (status) => this.#dispatch({ kind: "link", stream, status }),
      onUnauthenticated: () => this.promptForToken("refused"),
    });
  }

  #visibilityChanged(): void {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === "hidden") {
      this.#hiddenTimer = setTimeout(() => this.#disconnect(), hiddenMsMax);
    } else if (this.#subscriptions.length === 0) {
      this.#connect();
    }
  }

  #disconnect(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
    this.#subscriptions = [];
  }

  #dispatch(event: ClusterEvent): void {
    const next = stepCluster(this.#state, event);
    if (next === this.#state) return;
    this.#state = next;
    for (const listener of this.#listeners) listener();
  }
}

function parseWatch(data: string): WatchMessage {
  return JSON.parse(data) as WatchMessage;
}

export const ClusterContext = createContext<Cluster | undefined>(undefined);

export function useCluster(): Cluster {
  const cluster = useContext(ClusterContext);
  if (cluster === undefined) throw new Error("useCluster is called outside of ClusterContext");
  return cluster;
}

/** Part of the state; `select` must return the same object for the same state. */
export function useClusterState<T>(select: (state: ClusterState) => T): T {
  const cluster = useCluster();
  return useSyncExternalStore(cluster.subscribe, () => select(cluster.state()));
}
