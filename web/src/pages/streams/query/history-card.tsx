/** How a query came to its state, the newest change first. */
import type { StreamQueryDetail } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { formatAge, formatMoment } from "../../../format.ts";
import { conditionOf } from "../query-condition.ts";
import { QuerySign } from "../query-sign.tsx";

type Change = StreamQueryDetail["history"][number];

interface HistoryCardProps {
  readonly query: StreamQueryDetail;
  readonly nowMs: number;
}

export function HistoryCard({ query, nowMs }: HistoryCardProps) {
  const columns: readonly Column<Change>[] = [
    {
      title: "When",
      className: "nowrap",
      cell: ({ at_ms: atMs }) => <span title={formatMoment(atMs)}>{formatAge(nowMs - atMs)}</span>,
    },
    { title: "State", className: "nowrap", cell: (change) => <To change={change} /> },
    { title: "Why", className: "history-why", cell: ({ reason }) => reason },
    { title: "Epoch", className: "num from-sm", cell: ({ epoch }) => epoch },
  ];
  return (
    <Card title="History">
      <DataTable
        label="History"
        columns={columns}
        rows={query.history.toReversed()}
        rowKey={({ number }) => number}
        rowProps={({ to_state }) => ({ "data-to": to_state ?? "NONE" })}
        empty="Nothing has happened yet."
      />
    </Card>
  );
}

function To({ change }: { readonly change: Change }) {
  const { from_state: before, to_state: state, epoch } = change;
  if (state === null) return <span className="dim">Removed</span>;
  // The epoch changes a moment after a query that ran has lost a fragment.
  const isAgain = state === "DEPLOYING" && before !== "PENDING";
  const condition = isAgain ? "redeploying" : conditionOf({ state, detail: null, epoch });
  return <QuerySign isStill condition={condition} />;
}
