/** Single operations from the lake's records, the slowest first. */
import { Button, Select, Switch } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { QueryExecution } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { formatClock, formatCount, formatLatency } from "../../../format.ts";

interface ExecutionsCardProps {
  readonly runId: string;
  readonly operations: readonly string[];
  readonly recordOneIn: number;
}

const pageSize = 20;

export function ExecutionsCard({ runId, operations, recordOneIn }: ExecutionsCardProps) {
  const [page, setPage] = useState(0);
  const [operation, setOperation] = useState("");
  const [order, setOrder] = useState("slowest");
  const [isFailed, setFailed] = useState(false);
  const query = new URLSearchParams({
    // One more than is shown: whether there is a next page.
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
          { value: "start", label: "In order" },
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
      {data === undefined || items.length === 0 ? (
        <p className="dim card-body">
          {data === undefined
            ? (error?.message ?? "…")
            : isFailed
              ? "None that was recorded has failed."
              : "None was recorded."}
        </p>
      ) : (
        <div className="table-scroll">
          <table
            className="table run-table"
            aria-label="Single operations"
            aria-busy={isPlaceholderData}
          >
            <thead>
              <tr>
                <th>Began</th>
                <th>Operation</th>
                <th className="num">Response</th>
                <th className="num from-sm">Service</th>
                <th className="num from-sm">Rows</th>
                <th className="from-sm">Worker</th>
                <th>Outcome</th>
              </tr>
            </thead>
            <tbody>
              {items.map((each) => (
                <ExecutionLine key={each.execution_id} execution={each} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div className="executions-foot">
        <Button variant="default" disabled={page === 0} onClick={() => setPage(page - 1)}>
          Before
        </Button>
        <span className="dim">
          {items.length === 0
            ? "none"
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

function ExecutionLine({ execution }: { readonly execution: QueryExecution }) {
  const { start_ms: startMs } = execution;
  const fraction = String(Math.floor(startMs % 1_000)).padStart(3, "0");
  return (
    <tr data-execution={execution.execution_id}>
      <td className="nowrap">
        <time>
          {formatClock(startMs)}.{fraction}
        </time>
        {execution.warmup && <div className="dim run-small">warm-up</div>}
      </td>
      <td>{execution.operation}</td>
      <td className="num">{formatLatency(execution.app_elapsed_ms)}</td>
      <td className="num from-sm">{formatLatency(execution.service_ms)}</td>
      <td className="num from-sm">{formatCount(Number(execution.rows_affected))}</td>
      <td className="from-sm nowrap">
        {execution.worker_id}
        <span className="dim"> / {execution.connection_id}</span>
      </td>
      <td className="run-outcome">
        {execution.success ? (
          <span className="dim">ok</span>
        ) : (
          <>
            <span className="tone-bad">{execution.error_kind}</span>
            <div className="dim run-small">{execution.error_message}</div>
          </>
        )}
        {execution.sf_query_id !== null && (
          <div className="dim run-small mono">{execution.sf_query_id}</div>
        )}
      </td>
    </tr>
  );
}
