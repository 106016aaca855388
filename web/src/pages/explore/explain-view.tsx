/**
 * How a query was answered: its leaves, which workers computed them from what, and where the time
 * went.
 */
import { type Column, DataTable } from "../../components/data-table.tsx";
import { formatBytes, formatCount, formatDuration, plural, unknown } from "../../format.ts";
import type { LeafSummary, QuerySummary } from "./query-summary.ts";

const outputs = {
  partials: "aggregated by the workers",
  steps: "computed by the workers",
  raw: "raw samples",
} as const;

const stages = [
  ["planMs", "Plan"],
  ["queueMs", "Wait for a worker"],
  ["workMs", "Work"],
  ["fetchMs", "Fetch"],
  ["evalMs", "Merge and evaluate"],
] as const;

export function ExplainView({ summary }: { readonly summary: QuerySummary }) {
  const total = Math.max(1, ...stages.map(([stage]) => summary.stages[stage]));
  return (
    <div className="explain">
      <dl className="explain-stages" aria-label="Time per stage">
        {stages.map(([stage, name]) => (
          <div key={stage}>
            <dt>{name}</dt>
            <dd>
              <span
                className="explain-bar"
                style={{ width: `${(summary.stages[stage] / total) * 100}%` }}
              />
              <span className="num">{formatDuration(summary.stages[stage])}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p className="dim">
        {formatDuration(summary.stages.totalMs)} in total, first result after{" "}
        {formatDuration(summary.stages.firstResultMs)}. Query{" "}
        <span className="mono">{summary.queryId}</span>.
      </p>
      {summary.leaves.map((leaf, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: leaves have no other identity.
        <Leaf key={index} leaf={leaf} />
      ))}
      {summary.leaves.length === 0 && <p className="dim">No worker was needed.</p>}
    </div>
  );
}

const workColumns: readonly Column<LeafSummary["works"][number]>[] = [
  { title: "Shard", className: "num", cell: ({ shard }) => shard },
  { title: "Worker", cell: ({ workerId }) => workerId ?? unknown },
  { title: "Series", className: "num", cell: ({ series }) => formatCount(series) },
  { title: "Samples", className: "num", cell: ({ samples }) => formatCount(samples) },
  { title: "Result", className: "num", cell: ({ artifactBytes }) => formatBytes(artifactBytes) },
  { title: "Duration", className: "num", cell: ({ workMs }) => formatDuration(workMs) },
  { title: "Attempts", className: "num", cell: ({ attempts }) => attempts },
];

function Leaf({ leaf }: { readonly leaf: LeafSummary }) {
  const from = [
    plural(leaf.segmentCount, "segment"),
    ...(leaf.fromHead ? ["the newest samples"] : []),
  ].join(" and ");
  return (
    <section className="explain-leaf">
      <h3 className="mono">{leaf.text}</h3>
      <p className="dim">
        {outputs[leaf.output]}, from {from}
      </p>
      {leaf.works.length > 0 && (
        <div className="result">
          <DataTable
            label="Work"
            columns={workColumns}
            rows={leaf.works}
            rowKey={(_, index) => index}
          />
        </div>
      )}
    </section>
  );
}
