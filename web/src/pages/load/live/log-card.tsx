/** The run's log: the newest at the bottom, which is followed until somebody scrolls up. */
import { Button, SegmentedControl } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import type { LogLine } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { formatClock } from "../../../format.ts";
import { filterLogs, type LogFilter } from "./filter-logs.ts";

const filters: readonly { readonly value: LogFilter; readonly label: string }[] = [
  { value: "all", label: "All" },
  { value: "trouble", label: "Warnings" },
  { value: "errors", label: "Errors" },
];
const nearPixels = 24;

export function LogCard({ lines }: { readonly lines: readonly LogLine[] }) {
  const [filter, setFilter] = useState<LogFilter>("all");
  const [follows, setFollows] = useState(true);
  const host = useRef<HTMLElement>(null);
  const shown = filterLogs(lines, filter);
  const last = shown.at(-1)?.sequence;
  // biome-ignore lint/correctness/useExhaustiveDependencies: goes down when there is a new last line.
  useEffect(() => {
    if (follows) host.current?.scrollTo({ top: host.current.scrollHeight });
  }, [follows, last]);
  const scrolled = (): void => {
    const { current } = host;
    if (current === null) return;
    setFollows(current.scrollHeight - current.scrollTop - current.clientHeight < nearPixels);
  };
  const aside = (
    <div className="log-aside">
      {!follows && (
        <Button
          variant="default"
          size="compact-xs"
          leftSection={<IconArrowDown size={12} />}
          onClick={() => setFollows(true)}
        >
          Follow
        </Button>
      )}
      <SegmentedControl
        size="xs"
        aria-label="Log lines shown"
        data={[...filters]}
        value={filter}
        onChange={(value) => setFilter(value as LogFilter)}
      />
    </div>
  );
  return (
    <Card title="Log" aside={aside}>
      {shown.length === 0 ? (
        <p className="dim card-body panel-none">
          {lines.length === 0 ? "No log lines yet." : "No lines match."}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        <section ref={host} className="log" tabIndex={0} aria-label="Log lines" onScroll={scrolled}>
          {shown.map((line) => (
            <div key={line.sequence} className="log-line" data-level={line.level}>
              <time className="dim">{formatClock(Date.parse(line.timestamp))}</time>
              <span className="log-level">{line.level.toLowerCase()}</span>
              <span className="dim truncate log-who">{line.worker_id ?? "coordinator"}</span>
              <span className="log-message">{line.message}</span>
            </div>
          ))}
        </section>
      )}
    </Card>
  );
}
