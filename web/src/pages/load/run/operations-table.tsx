/** The run by operation. */
import { useState } from "react";
import type { OperationSummary, RunSummary } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable, type Sorting } from "../../../components/data-table.tsx";
import { compareNames, compareValues, type SortValue } from "../../../components/sort-order.ts";
import { formatCount, formatRate } from "../../../format.ts";
import { latencyText } from "./run-figures.tsx";

type Key = "name" | "ops" | "errors" | "unserved" | "p50" | "p95" | "p99" | "max";

const columns: readonly Column<OperationSummary, Key>[] = [
  { title: "Operation", sort: "name", cell: (each) => <Name operation={each} /> },
  {
    title: "Succeeded",
    sort: "ops",
    className: "num",
    cell: ({ ops, errors }) => formatCount(ops - errors),
  },
  { title: "Ops/s", className: "num from-sm", cell: ({ qps }) => formatRate(qps) },
  {
    title: "Errors",
    sort: "errors",
    className: "num",
    tone: ({ errors }) => (errors > 0 ? "tone-bad" : ""),
    cell: ({ errors }) => formatCount(errors),
  },
  {
    title: "Unserved",
    hint: "Arrivals without an answer",
    sort: "unserved",
    className: "num",
    tone: ({ unserved }) => ((unserved ?? 0) > 0 ? "tone-bad" : ""),
    cell: ({ unserved }) => formatCount(unserved),
  },
  {
    title: "p50",
    sort: "p50",
    className: "num from-sm",
    cell: (each) => latencyText(each, "p50_latency_ms"),
  },
  {
    title: "p95",
    sort: "p95",
    className: "num",
    cell: (each) => latencyText(each, "p95_latency_ms"),
  },
  {
    title: "p99",
    sort: "p99",
    className: "num",
    cell: (each) => latencyText(each, "p99_latency_ms"),
  },
  {
    title: "Longest",
    sort: "max",
    className: "num from-sm",
    cell: (each) => latencyText(each, "max_latency_ms"),
  },
];

const sortValue: Readonly<Record<Key, (operation: OperationSummary) => SortValue>> = {
  name: ({ operation }) => operation,
  ops: ({ ops, errors }) => ops - errors,
  errors: ({ errors }) => errors,
  unserved: ({ unserved }) => unserved,
  p50: (each) => each.p50_latency_ms,
  p95: (each) => each.p95_latency_ms,
  p99: (each) => each.p99_latency_ms,
  max: (each) => each.max_latency_ms,
};

export function OperationsTable({ summary }: { readonly summary: RunSummary }) {
  const [view, setView] = useState<Sorting<Key>>({
    sort: "ops",
    descending: true,
  });
  if (summary.operations.length === 0) return null;
  const operations = summary.operations.toSorted(
    (a, b) =>
      compareValues(sortValue[view.sort](a), sortValue[view.sort](b), view.descending) ||
      compareNames(a.operation, b.operation),
  );
  return (
    <Card title="Operations" aside={<span className="dim">{operations.length}</span>}>
      <DataTable
        label="Operations"
        columns={columns}
        rows={operations}
        rowKey={({ operation }) => operation}
        rowProps={({ operation }) => ({ "data-operation": operation })}
        view={view}
        onView={setView}
      />
    </Card>
  );
}

function Name({
  operation: { operation, query_kind: kind },
}: {
  readonly operation: OperationSummary;
}) {
  return (
    <>
      <span className="run-strong">{operation}</span>
      {kind.toLowerCase() !== operation && (
        <div className="dim row-small">{kind.toLowerCase().replace("_", " ")}</div>
      )}
    </>
  );
}
