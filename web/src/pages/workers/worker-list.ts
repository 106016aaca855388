/** Which workers the table shows, and in which order. Pure. */
import type { Worker } from "../../api/gen/types.ts";
import { addressOf, admissionOf, type Condition, conditionOf } from "../../api/worker-condition.ts";
import { compareNames, compareValues, type SortValue } from "../../components/sort-order.ts";
import { factNumber } from "../../format.ts";

export type SortKey =
  | "name"
  | "state"
  | "admission"
  | "cpu"
  | "memory"
  | "running"
  | "rtt"
  | "answer"
  | "address"
  | "version";

export interface ListView {
  readonly text: string;
  readonly condition: Condition | "all";
  readonly sort: SortKey;
  readonly descending: boolean;
}

/** The worst first, so that sorting by state shows problems at the top. */
const severity: Readonly<Record<Condition, number>> = { unreachable: 0, draining: 1, active: 2 };

const sortValue: Readonly<Record<SortKey, (worker: Worker) => SortValue>> = {
  name: (worker) => worker.worker_id,
  state: (worker) => severity[conditionOf(worker)],
  admission: (worker) => admissionOf(worker),
  cpu: (worker) => factNumber(worker.live?.facts, "cpu_ratio"),
  memory: (worker) => factNumber(worker.live?.facts, "memory_bytes"),
  running: (worker) =>
    (factNumber(worker.live?.facts, "running_work") ?? 0) +
    (factNumber(worker.live?.facts, "queue_depth") ?? 0),
  rtt: (worker) => worker.live?.rtt_ms,
  answer: (worker) => worker.live?.last_answer_ms_ago,
  address: (worker) => addressOf(worker),
  version: (worker) => worker.software_version,
};

/** People type addresses, too. */
export function parseSortKey(text: string): SortKey | undefined {
  return Object.hasOwn(sortValue, text) ? (text as SortKey) : undefined;
}

export function listWorkers(workers: readonly Worker[], view: ListView): readonly Worker[] {
  const text = view.text.trim().toLowerCase();
  const value = sortValue[view.sort];
  return workers
    .filter((worker) => view.condition === "all" || conditionOf(worker) === view.condition)
    .filter((worker) => text === "" || searchText(worker).includes(text))
    .sort(
      (a, b) =>
        compareValues(value(a), value(b), view.descending) ||
        compareNames(a.worker_id, b.worker_id),
    );
}

function searchText(worker: Worker): string {
  const words = [
    worker.worker_id,
    addressOf(worker),
    worker.incarnation,
    worker.software_version,
    worker.state_reason,
  ];
  return words.join(" ").toLowerCase();
}
