/** The figures of each operation, and the state of its objectives. */
import { IconCircleCheck, IconCircleDashed, IconCircleX } from "@tabler/icons-react";
import type { OperationUpdate, RunUpdate, Scenario } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { type Sign, StateSign } from "../../../components/state-sign.tsx";
import { formatCount, formatRate, formatShare } from "../../../format.ts";
import { latencyText } from "../run/run-figures.tsx";
import {
  formatSlo,
  type SloState,
  type SloStatus,
  sloStatuses,
  slosOfOperation,
  sloUnit,
} from "./slo-status.ts";

interface OperationsCardProps {
  readonly update: RunUpdate;
  readonly scenario: Scenario;
}

const signs: Readonly<Record<SloState, Sign>> = {
  met: { word: "Met", tone: "good", icon: IconCircleCheck },
  missed: { word: "Missed", tone: "bad", icon: IconCircleX },
  open: { word: "Not decided", tone: "dim", icon: IconCircleDashed },
};

const columns: readonly Column<OperationUpdate>[] = [
  { title: "Operation", cell: ({ operation }) => operation },
  {
    title: "Kind",
    className: "from-sm dim",
    cell: ({ query_kind: kind }) => kind.toLowerCase().replace("_", " "),
  },
  { title: "Count", className: "num", cell: ({ ops }) => formatCount(ops) },
  {
    title: "Errors",
    className: "num",
    tone: ({ errors }) => (errors > 0 ? "tone-bad" : ""),
    cell: (row) => (row.errors === 0 ? "0" : `${formatCount(row.errors)} (${share(row)})`),
  },
  { title: "p50", className: "num", cell: (row) => latencyText(row, "p50_latency_ms") },
  { title: "p95", className: "num", cell: (row) => latencyText(row, "p95_latency_ms") },
  { title: "p99", className: "num from-sm", cell: (row) => latencyText(row, "p99_latency_ms") },
];

export function OperationsCard({ update, scenario }: OperationsCardProps) {
  const statuses = sloStatuses(scenario.slos, update);
  const measured = update.custom_metrics.app_ops_breakdown;
  const rows = scenario.workload.operations.map(
    ({ name, kind }): OperationUpdate => measured[name] ?? nothing(name, kind),
  );
  const hasOwn = rows.some((row) => slosOfOperation(statuses, row).length > 0);
  const overall = statuses.filter(({ slo }) => slo.of === "ALL");
  const objectives: Column<OperationUpdate> = {
    title: "Objectives",
    cell: (row) => <Objectives statuses={slosOfOperation(statuses, row)} />,
  };
  return (
    <Card title="Operations" aside={<Objectives statuses={overall} />}>
      <DataTable
        label="Operations"
        columns={hasOwn ? [...columns, objectives] : columns}
        rows={rows}
        rowKey={({ operation }) => operation}
      />
    </Card>
  );
}

function Objectives({ statuses }: { readonly statuses: readonly SloStatus[] }) {
  if (statuses.length === 0) return null;
  return (
    <ul className="live-objectives" aria-label="Objectives">
      {statuses.map(({ slo, state, value, isLeast }) => (
        <li key={formatSlo(slo)} title={titleOf(state, value, isLeast, sloUnit(slo.metric))}>
          <StateSign sign={{ ...signs[state], word: formatSlo(slo) }} />
        </li>
      ))}
    </ul>
  );
}

function titleOf(
  state: SloState,
  value: number | undefined,
  isLeast: boolean,
  unit: string,
): string {
  const now = value === undefined ? "" : ` Now ${isLeast ? "≥ " : ""}${formatRate(value)}${unit}.`;
  return state === "open"
    ? `Not decided yet; the verdict comes at the end of the run.${now}`
    : `${signs[state].word} so far.${now}`;
}

function share({ ops, errors }: OperationUpdate): string {
  return formatShare(ops === 0 ? 0 : (errors / ops) * 100);
}

function nothing(operation: string, kind: OperationUpdate["query_kind"]): OperationUpdate {
  return {
    operation,
    query_kind: kind,
    ops: 0,
    errors: 0,
    p50_latency_ms: null,
    p95_latency_ms: null,
    p99_latency_ms: null,
    unserved: 0,
    at_least: [],
  };
}
