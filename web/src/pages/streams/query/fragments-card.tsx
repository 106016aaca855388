/** The fragments of a query on their workers, as a graph and as a list. */
import { SegmentedControl } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useMemo, useState } from "react";
import type { LiveQuery, StreamQueryDetail } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { formatLag } from "../../../format.ts";
import { FragmentsGraph } from "./fragments-graph.tsx";
import { FragmentsTable } from "./fragments-table.tsx";
import { totalsOf } from "./live-figures.ts";
import { useLostWorkers } from "./use-lost-workers.ts";
import { useSilence } from "./use-silence.ts";

interface FragmentsCardProps {
  readonly query: StreamQueryDetail;
  readonly live: LiveQuery | undefined;
  /** Why there are no figures. */
  readonly error: Error | null;
}

/** A narrow window starts with the list. */
export function FragmentsCard({ query, live, error }: FragmentsCardProps) {
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const [chosen, setChosen] = useState<string>();
  const as = chosen ?? (isNarrow ? "list" : "graph");
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label="View"
      value={as}
      onChange={setChosen}
      data={[
        { value: "graph", label: "Graph" },
        { value: "list", label: "List" },
      ]}
    />
  );
  return (
    <Card title="Fragments" aside={choice} className="stream-graph">
      {error !== null && live === undefined && (
        <p className="dim card-body figures-missing" role="status">
          There are no figures: {error.message}
        </p>
      )}
      <LostWorkers query={query} />
      {live !== undefined && <HeldBack live={live} />}
      {as === "graph" ? (
        <FragmentsGraph query={query} live={live} />
      ) : (
        <FragmentsTable query={query} live={live} />
      )}
    </Card>
  );
}

/** Its reason may be what a fragment elsewhere said of the same loss. */
function LostWorkers({ query }: Pick<FragmentsCardProps, "query">) {
  const lost = useLostWorkers();
  const names = [...new Set(query.deployed.map(({ worker_id }) => worker_id))].filter((worker) =>
    lost.has(worker),
  );
  if (names.length === 0) return null;
  return (
    <p className="note held-back" data-tone="bad" role="status">
      {names.join(" and ")} cannot be reached: what is there waits for it, or moves to another
      worker where it may.
    </p>
  );
}

/** The answer to "why is there no output?". */
function HeldBack({ live }: { readonly live: LiveQuery }) {
  const { query_id: id, held_back_by: held } = live;
  const silence = useSilence(useMemo(() => new Map([[id, live]]), [id, live]))(id);
  if (held === null) return null;
  if (silence !== "") {
    return (
      <p className="note held-back" data-tone="warn" role="status">
        {silence[0]?.toUpperCase() + silence.slice(1)}.
      </p>
    );
  }
  return (
    <p className="card-body time-note dim">
      Event time is {formatLag(totalsOf(live).watermarkLagMs)} behind: {held.reason}.
    </p>
  );
}
