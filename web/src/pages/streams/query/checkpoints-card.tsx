/** The checkpoints that are kept: how long each took, and how large it is. */
import type { LiveCheckpoint, LiveQuery } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { formatAge, formatBytes, formatDuration, formatMoment } from "../../../format.ts";

interface CheckpointsCardProps {
  readonly live: LiveQuery | undefined;
  readonly nowMs: number;
}

export function CheckpointsCard({ live, nowMs }: CheckpointsCardProps) {
  const columns: readonly Column<LiveCheckpoint>[] = [
    { title: "Checkpoint", cell: (each) => <NumberCell checkpoint={each} /> },
    {
      title: "When",
      className: "nowrap",
      cell: ({ begun_at_ms: atMs }) => (
        <span title={formatMoment(atMs)}>{formatAge(nowMs - atMs)}</span>
      ),
    },
    { title: "Duration", className: "num", cell: (each) => formatDuration(each.duration_ms) },
    { title: "Size", className: "num", cell: ({ bytes }) => formatBytes(bytes) },
    { title: "Epoch", className: "num from-sm", cell: ({ epoch }) => epoch },
  ];
  return (
    <Card title="Checkpoints">
      <DataTable
        label="Checkpoints"
        columns={columns}
        rows={live?.checkpoints ?? []}
        rowKey={({ epoch, checkpoint }) => `${epoch} ${checkpoint}`}
        empty="None yet. From one on, the query goes on from the newest when a worker is lost."
      />
    </Card>
  );
}

function NumberCell({
  checkpoint: { checkpoint, savepoint },
}: {
  readonly checkpoint: LiveCheckpoint;
}) {
  return (
    <>
      {checkpoint}
      {savepoint && <span className="dim"> savepoint</span>}
    </>
  );
}
