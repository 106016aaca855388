/** Which workers the table shows, and in which order. Pure. */
import type { Worker } from "../../api/types.ts";
import { addressOf, admissionOf, type Condition, conditionOf } from "../../api/worker-condition.ts";
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

/** The worst first: what needs a look is at the top when sorted by state. */
const severity: Readonly<Record<Condition, number>> = { unreachable: 0, draining: 1, active: 2 };

const sortValue: Readonly<Record<SortKey, (worker: Worker) => string | number | null | undefined>> =
  {
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

/** Addresses are typed by people too. */
export function parseSortKey(text: string): SortKey | undefined {
  return Object.hasOwn(sortValue, text) ? (text as SortKey) : undefined;
}

export function listWorkers(workers: readonly Worker[], view: ListView): readonly Worker[] {
  const text = view.text.trim().toLowerCase();
  return workers
    .filter((worker) => view.condition === "all" || conditionOf(worker) === view.condition)
    .filter((worker) => text === "" || searchText(worker).includes(text))
    .sort((a, b) => order(a, b, view) || byName(a, b));
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

/** What is not known comes last, in either direction. */
function order(a: Worker, b: Worker, { sort, descending }: ListView): number {
  const left = sortValue[sort](a) ?? undefined;
  const right = sortValue[sort](b) ?? undefined;
  if (left === undefined || right === undefined) {
    return Number(left === undefined) - Number(right === undefined);
  }
  const ascending =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : collator.compare(String(left), String(right));
  return descending ? -ascending : ascending;
}

const collator = new Intl.Collator("en", { numeric: true });

function byName(a: Worker, b: Worker): number {
  return collator.compare(a.worker_id, b.worker_id);
}
