/** The cluster's health in one line, for people. Pure. */
import type { ClusterStatus, Worker } from "../../api/types.ts";
import { admissionOf, conditionOf } from "../../api/worker-condition.ts";
import { plural } from "../../format.ts";

export interface Health {
  readonly tone: "good" | "warn" | "bad";
  readonly title: string;
  readonly detail: string;
}

export function judgeHealth(status: ClusterStatus, workers: readonly Worker[]): Health {
  if (workers.length === 0) {
    return { tone: "warn", title: "No workers", detail: "Queries wait until a worker joins." };
  }
  const reachable = workers.filter((worker) => conditionOf(worker) !== "unreachable");
  const accepting = workers.filter((worker) => admissionOf(worker) === "accepting");
  const unreachable = workers.length - reachable.length;
  if (reachable.length === 0) {
    return {
      tone: "bad",
      title: "No worker answers",
      detail: `${plural(unreachable, "worker")} unreachable; queries wait until one returns.`,
    };
  }
  if (accepting.length === 0) {
    return {
      tone: "warn",
      title: "No worker takes work",
      detail: "All are full or draining; queries wait.",
    };
  }
  if (unreachable > 0) {
    return {
      tone: "warn",
      title: "Degraded",
      detail: `${unreachable} of ${plural(workers.length, "worker")} unreachable; the others go on.`,
    };
  }
  if (status.role === "standby") {
    return {
      tone: "good",
      title: "Standing by",
      detail: `${status.lease?.api_url ?? "Another coordinator"} leads; this one takes over if it stops.`,
    };
  }
  return {
    tone: "good",
    title: "Healthy",
    detail: `${accepting.length} of ${plural(workers.length, "worker")} taking work.`,
  };
}
