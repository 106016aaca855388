/** One row for each fragment, with what it does at this moment. */
import { Anchor } from "@mantine/core";
import { Link } from "react-router";
import type { LiveFragment, LiveQuery, StreamQueryDetail } from "../../../api/gen/types.ts";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { formatBytes, formatCount, formatLag, formatPercent, formatRate } from "../../../format.ts";
import { FragmentSign } from "./fragment-sign.tsx";
import { backpressureTone, frontOf, lagOf } from "./live-figures.ts";

type Fragment = StreamQueryDetail["deployed"][number];
interface Row extends Fragment {
  readonly live: LiveFragment | undefined;
}

interface FragmentsTableProps {
  readonly query: StreamQueryDetail;
  readonly live: LiveQuery | undefined;
}

export function FragmentsTable({ query, live }: FragmentsTableProps) {
  const byName = new Map(live?.fragments.map((each) => [each.fragment, each]));
  const rows = query.deployed.map((each): Row => ({ ...each, live: byName.get(each.fragment) }));
  return (
    <DataTable
      label="Fragments"
      columns={columnsOf(frontOf(live?.fragments ?? []))}
      rows={rows}
      rowKey={({ fragment }) => fragment}
      rowProps={({ fragment, state }) => ({ "data-fragment": fragment, "data-state": state })}
      detail={({ live: figures }) =>
        figures !== undefined && <span className="dim">{figures.operators.join(" → ")}</span>
      }
      empty="It has no fragments."
    />
  );
}

function columnsOf(front: number | undefined): readonly Column<Row>[] {
  return [
    { title: "Fragment", cell: ({ fragment }) => <span className="mono">{fragment}</span> },
    {
      title: "Worker",
      className: "nowrap",
      cell: ({ worker_id: id, is_pinned }) => (
        <Anchor
          component={Link}
          to={`/workers/${encodeURIComponent(id)}`}
          size="sm"
          title={is_pinned ? "It stays there." : ""}
        >
          {id}
        </Anchor>
      ),
    },
    { title: "State", cell: (row) => <FragmentSign state={row.state} /> },
    {
      title: "Rows in/s",
      className: "num from-sm",
      cell: ({ live }) => formatRate(live?.rows_in_per_second),
    },
    {
      title: "Rows out/s",
      className: "num",
      cell: ({ live }) => formatRate(live?.rows_out_per_second),
    },
    {
      title: "Behind",
      className: "num from-md",
      cell: ({ live }) => formatLag(live && lagOf(live, front)),
    },
    {
      title: "Backpressure",
      className: "num from-sm",
      tone: ({ live }) => `tone-${backpressureTone(live?.backpressure_ratio)}`,
      cell: ({ live }) => formatPercent(live?.backpressure_ratio),
    },
    {
      title: "Busy",
      className: "num from-md",
      cell: ({ live }) => formatPercent(live?.busy_ratio),
    },
    { title: "Late", className: "num from-lg", cell: ({ live }) => formatCount(live?.late_rows) },
    {
      title: "Malformed",
      className: "num from-lg",
      cell: ({ live }) => formatCount(live?.malformed_rows),
    },
    {
      title: "State size",
      className: "num from-lg",
      cell: ({ live }) => formatBytes(live?.state_bytes),
    },
  ];
}
