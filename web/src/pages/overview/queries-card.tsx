/** How busy the cluster is, now and over the last minute and a half. */
import { Skeleton } from "@mantine/core";
import { useClusterState } from "../../api/cluster.ts";
import { samplesMax } from "../../api/cluster-state.ts";
import type { ClusterStatus } from "../../api/gen/types.ts";
import { Card } from "../../components/card.tsx";
import { Sparkline } from "../../components/sparkline.tsx";
import { formatCount, formatDuration } from "../../format.ts";

export function QueriesCard() {
  const queries = useClusterState((state) => state.live?.status.queries);
  return (
    <Card title="Queries">
      <div className="card-body">
        {queries === undefined ? <Skeleton height={104} /> : <Known queries={queries} />}
      </div>
    </Card>
  );
}

function Known({ queries }: { readonly queries: ClusterStatus["queries"] }) {
  const ended = useClusterState((state) => state.endedSamples);
  const perSecond = ended.at(-1) ?? 0;
  return (
    <>
      <div className="figures">
        <Figure value={queries.running} name="running" />
        <Figure
          value={queries.queued}
          name={
            queries.queued > 0
              ? `queued, oldest ${formatDuration(queries.oldest_age_ms)}`
              : "queued"
          }
        />
        <Figure value={queries.completed_total} name="completed" />
        <Figure value={queries.failed_total} name="failed" />
      </div>
      <Sparkline
        samples={ended}
        samplesMax={samplesMax}
        top={4}
        label={`Queries ended per second over the last ${samplesMax} seconds; now ${perSecond}`}
      />
      <div className="sparkline-note">
        <span>ended per second</span>
        <span>{formatCount(perSecond)}/s</span>
      </div>
    </>
  );
}

function Figure({ value, name }: { readonly value: number; readonly name: string }) {
  return (
    <div className="figure">
      <strong>{formatCount(value)}</strong>
      <span>{name}</span>
    </div>
  );
}
