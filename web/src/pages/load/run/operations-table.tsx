/** The run by operation. */
import { useState } from "react";
import type { OperationSummary, RunSummary } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { type Heading, SortHeading } from "../../../components/sort-heading.tsx";
import { compareNames, compareValues, type SortValue } from "../../../components/sort-order.ts";
import { formatCount, formatRate } from "../../../format.ts";
import { latencyText } from "./run-figures.tsx";

type Key = "name" | "ops" | "errors" | "unserved" | "p50" | "p95" | "p99" | "max";

const headings: readonly Heading<Key>[] = [
  { title: "Operation", sort: "name" },
  { title: "Succeeded", sort: "ops", className: "num" },
  { title: "Per second", className: "num from-sm" },
  { title: "Errors", sort: "errors", className: "num" },
  { title: "Unserved", sort: "unserved", className: "num" },
  { title: "p50", sort: "p50", className: "num from-sm" },
  { title: "p95", sort: "p95", className: "num" },
  { title: "p99", sort: "p99", className: "num" },
  { title: "Longest", sort: "max", className: "num from-sm" },
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
  const [view, setView] = useState<{ sort: Key; descending: boolean }>({
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
                <td className="num">{formatCount(each.ops - each.errors)}</td>
                <td className="num from-sm">{formatRate(each.qps)}</td>
                <td className={`num ${each.errors > 0 ? "tone-bad" : ""}`}>
                  {formatCount(each.errors)}
                </td>
                <td className={`num ${(each.unserved ?? 0) > 0 ? "tone-bad" : ""}`}>
                  {formatCount(each.unserved)}
                </td>
                <td className="num from-sm">{latencyText(each, "p50_latency_ms")}</td>
                <td className="num">{latencyText(each, "p95_latency_ms")}</td>
                <td className="num">{latencyText(each, "p99_latency_ms")}</td>
                <td className="num from-sm">{latencyText(each, "max_latency_ms")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
