/** The target's own figures from the last poll. */
import type { RunUpdate } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { formatCount } from "../../../format.ts";

interface ServerPanelProps {
  readonly update: RunUpdate;
  readonly kind: string;
}

export function ServerPanel({ update, kind }: ServerPanelProps) {
  const { warehouse, custom_metrics } = update;
  if (warehouse === null) {
    return (
      <Card title="Server">
        <p className="dim card-body panel-none">
          {hasServer(kind)
            ? "The server is polled every 5 s during the run."
            : `${kind} has no server to poll.`}
        </p>
      </Card>
    );
  }
  const rest = Object.entries(custom_metrics.sf_bench).filter(([, value]) => isPlain(value));
  return (
    <Card title="Server" aside={<span className="dim truncate">{warehouse.name}</span>}>
      <div className="card-body">
        <dl className="facts">
          <dt>Running</dt>
          <dd>{formatCount(warehouse.running)}</dd>
          <dt>Waiting</dt>
          <dd className={(warehouse.queued ?? 0) > 0 ? "tone-warn" : ""}>
            {formatCount(warehouse.queued)}
          </dd>
          {warehouse.started_clusters !== null && (
            <>
              <dt>Clusters</dt>
              <dd>{formatCount(warehouse.started_clusters)}</dd>
            </>
          )}
          {rest.map(([name, value]) => (
            <Fact key={name} name={name} value={String(value)} />
          ))}
        </dl>
      </div>
    </Card>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt className="truncate" title={name}>
        {name.replaceAll("_", " ")}
      </dt>
      <dd>{value}</dd>
    </>
  );
}

function hasServer(kind: string): boolean {
  return kind === "postgres" || kind === "mysql" || kind === "snowflake";
}

function isPlain(value: unknown): boolean {
  return typeof value === "number" || typeof value === "string" || typeof value === "boolean";
}
