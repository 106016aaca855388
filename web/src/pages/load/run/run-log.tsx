/** The run's log. */
import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { LogLine, RunStatus } from "../../../api/gen/types.ts";
import { readJson } from "../../../api/http.ts";
import { testPath } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { formatClock, formatCount } from "../../../format.ts";

const linesMax = 2_000;

interface RunLogProps {
  readonly runId: string;
  readonly status: RunStatus;
}

export function RunLog({ runId, status }: RunLogProps) {
  const [isTrouble, setTrouble] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["load-logs", runId, status],
    queryFn: ({ signal }) =>
      readJson<{ readonly items: readonly LogLine[] }>(testPath(runId, `/logs?limit=${linesMax}`), {
        signal,
      }),
    retry: false,
  });
  const lines = (data?.items ?? []).filter(({ level }) => !isTrouble || level !== "INFO");
  const choice = (
    <Switch
      size="xs"
      label="Warnings and errors only"
      checked={isTrouble}
      onChange={(event) => setTrouble(event.currentTarget.checked)}
    />
  );
  return (
    <Card title="Log" aside={choice}>
      {lines.length === 0 ? (
        <p className="dim card-body">
          {data === undefined
            ? (error?.message ?? "…")
            : isTrouble
              ? "No trouble."
              : "It is empty."}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <section className="run-log" tabIndex={0} aria-label="Log lines">
          {lines.map((line) => (
            <div key={line.sequence} className="run-log-line" data-level={line.level}>
              <time className="dim">{formatClock(Date.parse(line.timestamp))}</time>
              <span className="run-log-level">{line.level.toLowerCase()}</span>
              <span className="dim run-log-who">{line.worker_id ?? "coordinator"}</span>
              <span>{line.message}</span>
            </div>
          ))}
        </section>
      )}
      {data?.items.length === linesMax && (
        <p className="dim run-note">The first {formatCount(linesMax)} lines.</p>
      )}
    </Card>
  );
}
