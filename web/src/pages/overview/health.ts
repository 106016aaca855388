/** The cluster's health in one line, for people. Pure. */
import type { AttentionList, ClusterStatus, Worker } from "../../api/gen/types.ts";
import { admissionOf, conditionOf } from "../../api/worker-condition.ts";
import { plural } from "../../format.ts";

export interface Health {
  readonly tone: "good" | "warn" | "bad";
  readonly title: string;
  readonly detail: string;
}

export function judgeHealth(
  status: ClusterStatus,
  workers: readonly Worker[],
  attention: AttentionList,
): Health {
  const failedPart = attention.items.find(
    ({ kind, severity }) => kind === "part" && severity === "failed",
  );
  if (failedPart !== undefined) {
    const detail = `${failedPart.name}: ${failedPart.reason}`;
    return { tone: "bad", title: "Failing", detail };
  }
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
      detail: "All are full, draining or failing; queries wait.",
    };
  }
  if (unreachable > 0) {
    return {
      tone: "warn",
      title: "Degraded",
      detail: `${unreachable} of ${plural(workers.length, "worker")} unreachable; the others go on.`,
    };
  }
  if (attention.total > 0) {
    const isBad = attention.items.some(({ severity }) => severity === "failed");
    return {
      tone: isBad ? "bad" : "warn",
      title: "Needs attention",
      detail: `${summaryOf(attention)}; queries are answered.`,
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

const kinds = {
  part: "part",
  worker: "worker",
  dynamic_table: "dynamic table",
  load_run: "load test",
  scrape_target: "scrape target",
  stream_query: "continuous query",
} as const;

/** `2 dynamic tables, 1 scrape target` */
function summaryOf({ items, total }: AttentionList): string {
  if (total > items.length) return `${total} things`;
  return Object.entries(kinds)
    .map(([kind, word]) => [items.filter((item) => item.kind === kind).length, word] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => plural(count, word))
    .join(", ");
}
