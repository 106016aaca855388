/** The run by operation. */
import { useState } from "react";
import type { FinalFigures, OperationSummary, RunSummary } from "../../../api/load-results.ts";
import { Card } from "../../../components/card.tsx";
import { type Heading, SortHeading } from "../../../components/sort-heading.tsx";
import { compareNames, compareValues, type SortValue } from "../../../components/sort-order.ts";
import { formatCount, formatLatency, formatRate } from "../../../format.ts";

interface OperationsTableProps {
  readonly summary: RunSummary;
  readonly final: FinalFigures | undefined;
}

type Key = "name" | "ops" | "errors" | "p50" | "p95" | "p99" | "max";

const headings: readonly Heading<Key>[] = [
  { title: "Operation", sort: "name" },
  { title: "Count", sort: "ops", className: "num" },
  { title: "Per second", className: "num from-sm" },
  { title: "Errors", sort: "errors", className: "num" },
  { title: "p50", sort: "p50", className: "num from-sm" },
  { title: "p95", sort: "p95", className: "num" },
  { title: "p99", sort: "p99", className: "num" },
  { title: "Longest", sort: "max", className: "num from-sm" },
];

const sortValue: Readonly<Record<Key, (operation: OperationSummary) => SortValue>> = {
  name: ({ operation }) => operation,
  ops: ({ ops }) => ops,
  errors: ({ errors }) => errors,
  p50: (each) => each.p50_latency_ms,
  p95: (each) => each.p95_latency_ms,
  p99: (each) => each.p99_latency_ms,
  max: (each) => each.max_latency_ms,
};

export function OperationsTable({ summary, final }: OperationsTableProps) {
  const [view, setView] = useState<{ sort: Key; descending: boolean }>({
    sort: "ops",
    descending: true,
  });
  if (summary.operations.length === 0) return null;
  const exact = new Map(final?.by_operation.map((each) => [each.operation, each.latency]));
  const operations = summary.operations
    .map((each) => withExact(each, exact.get(each.operation) ?? undefined))
    .sort(
      (a, b) =>
        compareValues(sortValue[view.sort](a), sortValue[view.sort](b), view.descending) ||
        compareNames(a.operation, b.operation),
    );
  return (
    <Card title="Operations" aside={<span className="dim">{operations.length}</span>}>
      <div className="table-scroll">
        <table className="table run-table" aria-label="Operations">
          <thead>
            <tr>
              {headings.map((heading) => (
                <SortHeading key={heading.title} heading={heading} view={view} onView={setView} />
              ))}
            </tr>
          </thead>
          <tbody>
            {operations.map((each) => (
              <tr key={each.operation} data-operation={each.operation}>
                <td>
                  <span className="run-strong">{each.operation}</span>
                  {each.query_kind.toLowerCase() !== each.operation && (
                    <div className="dim run-small">
                      {each.query_kind.toLowerCase().replace("_", " ")}
                    </div>
                  )}
                </td>
                <td className="num">{formatCount(each.ops)}</td>
                <td className="num from-sm">
                  {formatRate(
                    summary.measured_seconds > 0 ? each.ops / summary.measured_seconds : null,
                  )}
                </td>
                <td className={`num ${each.errors > 0 ? "tone-bad" : ""}`}>
                  {formatCount(each.errors)}
                </td>
                <td className="num from-sm">{formatLatency(each.p50_latency_ms)}</td>
                <td className="num">{formatLatency(each.p95_latency_ms)}</td>
                <td className="num">{formatLatency(each.p99_latency_ms)}</td>
                <td className="num from-sm">{formatLatency(each.max_latency_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** The same numbers as above the table: of records where there are some. */
function withExact(
  operation: OperationSummary,
  exact: NonNullable<FinalFigures["latency"]> | undefined,
): OperationSummary {
  if (exact === undefined) return operation;
  return {
    ...operation,
    p50_latency_ms: exact.p50_ms,
    p95_latency_ms: exact.p95_ms,
    p99_latency_ms: exact.p99_ms,
  };
}
