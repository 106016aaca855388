import { Title } from "@mantine/core";
import { useClusterState } from "../../api/cluster.ts";
import { useWorkers } from "../../api/use-workers.ts";
import { useStaleClass } from "../../components/connection.tsx";
import "./overview.css";
import { AttentionCard } from "./attention-card.tsx";
import { HealthCard } from "./health-card.tsx";
import { NextSteps } from "./next-steps.tsx";
import { QueriesCard } from "./queries-card.tsx";
import { RecentQueries } from "./recent-queries.tsx";
import { SqlBox } from "./sql-box.tsx";
import { WorkersCard } from "./workers-card.tsx";

export function Component() {
  const status = useClusterState((state) => state.live?.status);
  const queries = useClusterState((state) => state.live?.queries);
  const attention = useClusterState((state) => state.live?.attention);
  const workers = useWorkers();
  const stale = useStaleClass();
  const nothingYet = queries?.length === 0;
  return (
    <div className="page">
      <div className="page-head">
        <Title order={1}>Overview</Title>
      </div>
      <div className={`overview-cards ${stale}`}>
        <HealthCard status={status} workers={workers} attention={attention} />
        <WorkersCard workers={workers} />
        <QueriesCard />
      </div>
      {attention !== undefined && attention.total > 0 && (
        <div className={stale}>
          <AttentionCard attention={attention} />
        </div>
      )}
      <SqlBox />
      {nothingYet ? (
        <NextSteps hasWorkers={workers !== undefined && workers.length > 0} />
      ) : (
        <div className={stale}>
          <RecentQueries queries={queries} />
        </div>
      )}
    </div>
  );
}
