/** The cluster's health, and its source. */
import { Skeleton } from "@mantine/core";
import { IconAlertTriangle, IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { AttentionList, ClusterStatus, Worker } from "../../api/gen/types.ts";
import { Card } from "../../components/card.tsx";
import { formatCount, formatUptime, unknown } from "../../format.ts";
import { judgeHealth } from "./health.ts";

const icons = { good: IconCircleCheck, warn: IconAlertTriangle, bad: IconCircleX };
const roles = { leader: "Leader", standby: "Standby", query_api: "Query API" };
const dialects: Readonly<Record<string, string>> = { sqlite: "SQLite", postgres: "PostgreSQL" };

interface HealthCardProps {
  readonly status: ClusterStatus | undefined;
  readonly workers: readonly Worker[] | undefined;
  readonly attention: AttentionList | undefined;
}

export function HealthCard({ status, workers, attention }: HealthCardProps) {
  return (
    <Card title="Cluster">
      <div className="card-body">
        {status === undefined || workers === undefined || attention === undefined ? (
          <Skeleton height={104} />
        ) : (
          <Known status={status} workers={workers} attention={attention} />
        )}
      </div>
    </Card>
  );
}

interface KnownProps {
  readonly status: ClusterStatus;
  readonly workers: readonly Worker[];
  readonly attention: AttentionList;
}

function Known({ status, workers, attention }: KnownProps) {
  const health = judgeHealth(status, workers, attention);
  const Icon = icons[health.tone];
  const { store, lease } = status;
  return (
    <>
      <div className="health">
        <Icon size={30} stroke={1.6} className={`tone-${health.tone}`} />
        <div>
          <div className="health-title">{health.title}</div>
          <div className="dim">{health.detail}</div>
        </div>
      </div>
      <dl className="strip">
        <Fact name="Role">{roles[status.role]}</Fact>
        <Fact name="Lease epoch" title={lease === null ? "" : `held by ${lease.holder}`}>
          {formatCount(lease?.epoch)}
        </Fact>
        <Fact name="Store" title={store === null ? "" : `schema version ${store.schema_version}`}>
          {store === null ? unknown : `${dialects[store.dialect] ?? store.dialect}`}
        </Fact>
        <Fact name="Version">{status.version}</Fact>
        <Fact name="Uptime">{formatUptime(status.uptime_ms)}</Fact>
      </dl>
    </>
  );
}

interface FactProps {
  readonly name: string;
  readonly title?: string;
  readonly children: ReactNode;
}

function Fact({ name, title = "", children }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd title={title}>{children}</dd>
    </div>
  );
}
