/** One row for each worker. Narrow windows show fewer columns; the drawer has all of them. */
import { Link, useSearchParams } from "react-router";
import type { Worker } from "../../api/gen/types.ts";
import { addressOf, conditionOf } from "../../api/worker-condition.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Meter } from "../../components/meter.tsx";
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

const columns: readonly Column<Worker, SortKey>[] = [
  { title: "Name", sort: "name", cell: (worker) => <Name worker={worker} /> },
  { title: "State", sort: "state", cell: (worker) => <State worker={worker} /> },
  {
    title: "Admission",
    sort: "admission",
    className: "from-sm nowrap",
    cell: (worker) => <AdmissionText worker={worker} />,
  },
  {
    title: "CPU",
    sort: "cpu",
    className: "from-sm",
    cell: (worker) => <Meter ratio={factNumber(factsOf(worker), "cpu_ratio")} />,
  },
  {
    title: "Memory",
    sort: "memory",
    className: "num from-md",
    cell: (worker) => formatBytes(factNumber(factsOf(worker), "memory_bytes")),
  },
  {
    title: "Running",
    sort: "running",
    className: "num",
    cell: (worker) => (
      <>
        {formatCount(factNumber(factsOf(worker), "running_work"))}
        <span className="dim"> / {worker.capacity}</span>
      </>
    ),
  },
  {
    title: "Queue",
    className: "num from-sm",
    cell: (worker) => formatCount(factNumber(factsOf(worker), "queue_depth")),
  },
  {
    title: "RTT",
    sort: "rtt",
    className: "num from-md",
    cell: (worker) => formatDuration(factsOf(worker) && worker.live?.rtt_ms),
  },
  {
    title: "Last answer",
    sort: "answer",
    className: "num from-md",
    cell: ({ live }) => formatAgo(live?.last_answer_ms_ago),
  },
  {
    title: "Incarnation",
    className: "from-lg mono dim",
    cell: ({ incarnation }) => <span title={incarnation}>{incarnation.slice(0, 10)}</span>,
  },
  { title: "Address", sort: "address", className: "from-lg mono dim nowrap", cell: addressOf },
  {
    title: "Version",
    sort: "version",
    className: "from-lg dim",
    cell: ({ software_version: version }) => version,
  },
];

export function WorkersTable({ workers, view, onView, onAction }: WorkersTableProps) {
  const menu: Column<Worker, SortKey> = {
    title: "Actions",
    isTitleHidden: true,
    className: "row-actions",
    cell: (worker) => <WorkerMenu worker={worker} onAction={onAction} />,
  };
  return (
    <DataTable
      label="Workers"
      columns={[...columns, menu]}
      rows={workers}
      rowKey={({ worker_id: id }) => id}
      rowProps={(worker) => ({
        "data-worker": worker.worker_id,
        "data-condition": conditionOf(worker),
        "data-tone": worker.state === "UNREACHABLE" ? "bad" : undefined,
      })}
      view={view}
      onView={onView}
    />
  );
}

function factsOf({ live }: Worker): Readonly<Record<string, string>> | undefined {
  return live?.session === true ? live.facts : undefined;
}

function Name({ worker }: { readonly worker: Worker }) {
  const [search] = useSearchParams();
  const to = { pathname: `/workers/${worker.worker_id}`, search: search.toString() };
  return (
    <Link className="row-link nowrap" to={to}>
      {worker.worker_id}
    </Link>
  );
}

function State({ worker }: { readonly worker: Worker }) {
  const condition = conditionOf(worker);
  return (
    <>
      <ConditionSign condition={condition} />
      {condition !== "active" && worker.state_reason !== "" && (
        <div className="dim row-note" title={worker.state_reason}>
          {worker.state_reason}
        </div>
      )}
    </>
  );
}
