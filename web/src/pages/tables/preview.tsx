/** Some current rows of a table. */
import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, request } from "../../api/http.ts";
import { SqlResultReader } from "../../api/sql-result.ts";
import { isHeldBack, release } from "../../arrival.ts";
import { Card } from "../../components/card.tsx";
import { SqlResultTable } from "../../components/sql-result-table.tsx";
import { formatCount, plural } from "../../format.ts";

const rowsMax = 100;
/** The minimum time between two reads of a table that changes constantly. */
const spacingMs = 5_000;

interface PreviewProps {
  readonly name: string;
  readonly rowCount: number | undefined;
  /** The commit that last changed the table. */
  readonly snapshot: number | undefined;
}

export function Preview({ name, rowCount, snapshot }: PreviewProps) {
  const [isHeld, setHeld] = useState(isHeldBack);
  const shownSnapshot = useSpaced(snapshot, spacingMs);
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["table-rows", name, shownSnapshot],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/tables/${encodeURIComponent(name)}/rows?limit=${rowsMax}`;
      const reader = new SqlResultReader();
      reader.push(await (await request(path, { signal })).text());
      reader.end();
      const { failure, columns, rows, rowCount: count } = reader;
      if (failure !== undefined) {
        throw new ApiError(failure.code, failure.message, 200, failure.hint);
      }
      return { columns, rows, rowCount: count };
    },
    enabled: !isHeld,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const note =
    data === undefined || rowCount === undefined
      ? undefined
      : data.rowCount < rowsMax
        ? plural(data.rowCount, "row")
        : `${formatCount(data.rowCount)} of ${plural(rowCount, "row")}, in no order`;
  return (
    <Card title="Data" aside={<span className="dim preview-note">{note}</span>}>
      {error !== null && (
        <div className="card-body">
          <div className="failure" role="alert">
            <strong>{error instanceof ApiError ? error.code : "failed"}</strong>
            <div className="failure-message">{error.message}</div>
            {error instanceof ApiError && error.hint !== undefined && (
              <div className="dim">{error.hint}</div>
            )}
          </div>
          <Button mt="xs" variant="default" loading={isFetching} onClick={() => void refetch()}>
            Try again
          </Button>
        </div>
      )}
      {isHeld && (
        <div className="card-body">
          <Button
            variant="default"
            onClick={() => {
              release();
              setHeld(false);
            }}
          >
            Show rows
          </Button>
        </div>
      )}
      {!isHeld && data === undefined && error === null && (
        <p className="dim card-body" role="status">
          Reading…
        </p>
      )}
      {data !== undefined && error === null && <SqlResultTable run={data} />}
    </Card>
  );
}

/** `value`, at most `ms` old. */
function useSpaced<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const [sinceMs, setSinceMs] = useState(() => performance.now());
  useEffect(() => {
    if (Object.is(value, shown)) return undefined;
    const timer = setTimeout(
      () => {
        setShown(value);
        setSinceMs(performance.now());
      },
      Math.max(0, sinceMs + ms - performance.now()),
    );
    return () => clearTimeout(timer);
  }, [value, shown, sinceMs, ms]);
  return shown;
}
