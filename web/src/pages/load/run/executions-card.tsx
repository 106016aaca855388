/** Single operations from the lake's records, the slowest first. */
import { Button, Select, Switch } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { QueryExecution } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { formatClock, formatCount, formatLatency } from "../../../format.ts";

interface ExecutionsCardProps {
  readonly runId: string;
  readonly operations: readonly string[];
  readonly recordOneIn: number;
}

const pageSize = 20;

const columns: readonly Column<QueryExecution>[] = [
  {
    title: "Began",
    className: "nowrap",
    cell: ({ start_ms: startMs, warmup }) => (
      <>
        <time>
          {formatClock(startMs)}.{String(Math.floor(startMs % 1_000)).padStart(3, "0")}
        </time>
        {warmup && <div className="dim row-small">warm-up</div>}
      </>
    ),
  },
  { title: "Operation", cell: ({ operation }) => operation },
  { title: "Response", className: "num", cell: (each) => formatLatency(each.app_elapsed_ms) },
  { title: "Service", className: "num from-sm", cell: (each) => formatLatency(each.service_ms) },
  { title: "Rows", className: "num from-sm", cell: (each) => formatCount(each.rows_affected) },
  {
    title: "Worker",
    className: "from-sm nowrap",
    cell: (each) => (
      <>
        {each.worker_id}
        <span className="dim"> / {each.connection_id}</span>
      </>
    ),
  },
  {
    title: "Outcome",
    className: "run-outcome",
    cell: (execution) => <Outcome execution={execution} />,
  },
];

export function ExecutionsCard({ runId, operations, recordOneIn }: ExecutionsCardProps) {
  const [page, setPage] = useState(0);
  const [operation, setOperation] = useState("");
  const [order, setOrder] = useState("slowest");
  const [isFailed, setFailed] = useState(false);
  const query = new URLSearchParams({
    // One more than is shown, to know whether there is a next page.
    limit: String(pageSize + 1),
    offset: String(page * pageSize),
    order,
    failed_only: String(isFailed),
    ...(operation !== "" && { operation }),
  });
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ["load-executions", runId, query.toString()],
    queryFn: ({ signal }) =>
      readJson<{ readonly items: readonly QueryExecution[] }>(
        testPath(runId, `/query-executions?${query}`),
        { signal },
      ),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const change = (apply: () => void): void => {
    apply();
    setPage(0);
  };
  const items = data?.items.slice(0, pageSize) ?? [];
  const filters = (
    <div className="executions-filters">
      <Select
        size="xs"
        aria-label="Order"
        data={[
          { value: "slowest", label: "Slowest first" },
          { value: "start", label: "Oldest first" },
        ]}
        value={order}
        allowDeselect={false}
        onChange={(value) => change(() => setOrder(value ?? "slowest"))}
      />
      <Select
        size="xs"
        aria-label="Operation"
        data={[{ value: "", label: "All operations" }, ...operations.map((each) => each)]}
        value={operation}
        allowDeselect={false}
        onChange={(value) => change(() => setOperation(value ?? ""))}
      />
      <Switch
        size="xs"
        label="Failed only"
        checked={isFailed}
        onChange={(event) => change(() => setFailed(event.currentTarget.checked))}
      />
    </div>
  );
  return (
    <Card title="Single operations" aside={filters}>
      <DataTable
        label="Single operations"
        columns={columns}
        rows={data && items}
        rowKey={({ execution_id: id }) => id}
        rowProps={({ execution_id: id }) => ({ "data-execution": id })}
        error={error}
        empty={isFailed ? "No recorded operation failed." : "No operation was recorded."}
        isStale={isPlaceholderData}
      />
      <div className="executions-foot">
        <Button variant="default" disabled={page === 0} onClick={() => setPage(page - 1)}>
          Previous
        </Button>
        <span className="dim">
          {items.length === 0
            ? "No operations"
            : `${formatCount(page * pageSize + 1)} to ${formatCount(page * pageSize + items.length)}`}
          {recordOneIn > 1 && `; one in ${formatCount(recordOneIn)} was recorded`}
        </span>
        <Button
          variant="default"
          disabled={data === undefined || data.items.length <= pageSize}
          onClick={() => setPage(page + 1)}
        >
          Next
        </Button>
      </div>
    </Card>
  );
}

function Outcome({ execution }: { readonly execution: QueryExecution }) {
  return (
    <>
      {execution.success ? (
        <span className="dim">ok</span>
      ) : (
        <>
          <span className="tone-bad">{execution.error_kind}</span>
          <div className="dim row-small">{execution.error_message}</div>
        </>
      )}
      {execution.sf_query_id !== null && (
        <div className="dim row-small mono">{execution.sf_query_id}</div>
      )}
    </>
  );
}
