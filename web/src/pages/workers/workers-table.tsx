/** One line a worker. Narrow windows show fewer columns; the drawer has all of them. */
import { VisuallyHidden } from "@mantine/core";
import { Link, useSearchParams } from "react-router";
import type { Worker } from "../../api/gen/types.ts";
import { addressOf, conditionOf } from "../../api/worker-condition.ts";
import { Meter } from "../../components/meter.tsx";
import { type Heading, SortHeading } from "../../components/sort-heading.tsx";
import { ConditionSign } from "../../components/state-sign.tsx";
import { factNumber, formatAgo, formatBytes, formatCount, formatDuration } from "../../format.ts";
import { AdmissionText } from "./admission-text.tsx";
import type { PendingAction } from "./confirm-action.tsx";
import type { ListView, SortKey } from "./worker-list.ts";
import { WorkerMenu } from "./worker-menu.tsx";

interface WorkersTableProps {
  readonly workers: readonly Worker[];
  readonly view: ListView;
  readonly onView: (change: Partial<ListView>) => void;
  readonly onAction: (action: PendingAction) => void;
}

const headings: readonly Heading<SortKey>[] = [
  { title: "Name", sort: "name" },
  { title: "State", sort: "state" },
  { title: "Admission", sort: "admission", className: "from-sm" },
  { title: "CPU", sort: "cpu", className: "from-sm" },
  { title: "Memory", sort: "memory", className: "num from-md" },
  { title: "Running", sort: "running", className: "num" },
  { title: "Queue", className: "num from-sm" },
  { title: "RTT", sort: "rtt", className: "num from-md" },
  { title: "Last answer", sort: "answer", className: "num from-md" },
  { title: "Incarnation", className: "from-lg" },
  { title: "Address", sort: "address", className: "from-lg" },
  { title: "Version", sort: "version", className: "from-lg" },
];

export function WorkersTable({ workers, view, onView, onAction }: WorkersTableProps) {
  return (
    <div className="table-scroll">
      <table className="table workers" aria-label="Workers">
        <thead>
          <tr>
            {headings.map((heading) => (
              <SortHeading key={heading.title} heading={heading} view={view} onView={onView} />
            ))}
            <th>
              <VisuallyHidden>Actions</VisuallyHidden>
            </th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <WorkerLine key={worker.worker_id} worker={worker} onAction={onAction} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface WorkerLineProps {
  readonly worker: Worker;
  readonly onAction: (action: PendingAction) => void;
}

function WorkerLine({ worker, onAction }: WorkerLineProps) {
  const [search] = useSearchParams();
  const { live } = worker;
  const condition = conditionOf(worker);
  const facts = live?.session === true ? live.facts : undefined;
  return (
    <tr className="worker-line" data-worker={worker.worker_id} data-condition={condition}>
      <td>
        <Link
          className="worker-name"
          to={{ pathname: `/workers/${worker.worker_id}`, search: search.toString() }}
        >
          {worker.worker_id}
        </Link>
      </td>
      <td className="worker-state">
        <ConditionSign condition={condition} />
        {condition !== "active" && worker.state_reason !== "" && (
          <div className="dim worker-reason" title={worker.state_reason}>
            {worker.state_reason}
          </div>
        )}
      </td>
      <td className="from-sm nowrap">
        <AdmissionText worker={worker} />
      </td>
      <td className="from-sm">
        <Meter ratio={factNumber(facts, "cpu_ratio")} />
      </td>
      <td className="num from-md">{formatBytes(factNumber(facts, "memory_bytes"))}</td>
      <td className="num">
        {formatCount(factNumber(facts, "running_work"))}
        <span className="dim"> / {worker.capacity}</span>
      </td>
      <td className="num from-sm">{formatCount(factNumber(facts, "queue_depth"))}</td>
      <td className="num from-md">{formatDuration(facts && live?.rtt_ms)}</td>
      <td className="num from-md">{formatAgo(live?.last_answer_ms_ago)}</td>
      <td className="from-lg mono dim" title={worker.incarnation}>
        {worker.incarnation.slice(0, 10)}
      </td>
      <td className="from-lg mono dim nowrap">{addressOf(worker)}</td>
      <td className="from-lg dim">{worker.software_version}</td>
      <td className="worker-menu">
        <WorkerMenu worker={worker} onAction={onAction} />
      </td>
    </tr>
  );
}
