/** The generator's own health, and how near the run is to the limits that would end it. */
import type { RunUpdate, Scenario } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { formatCount, formatLatency, formatShare } from "../../../format.ts";

interface GuardrailsCardProps {
  readonly update: RunUpdate;
  readonly scenario: Scenario;
}

interface Rail {
  readonly name: string;
  readonly value: number | null | undefined;
  readonly limit: number | null;
  readonly format: (value: number | null | undefined) => string;
}

export function GuardrailsCard({ update, scenario }: GuardrailsCardProps) {
  const { guardrails } = scenario;
  const { resources } = update.custom_metrics;
  const { aggregate_metrics: all } = update.run;
  const rails: readonly Rail[] = [
    {
      name: "CPU",
      value: resources.cpu_percent_peak,
      limit: guardrails.max_cpu_percent,
      format: formatShare,
    },
    {
      name: "Memory",
      value: resources.memory_percent_peak,
      limit: guardrails.max_memory_percent,
      format: formatShare,
    },
    {
      name: "Errors",
      value: all.total_ops === 0 ? null : all.error_rate * 100,
      limit: guardrails.max_error_rate_pct,
      format: formatShare,
    },
    {
      name: "p99",
      value: all.p99_latency_ms,
      limit: guardrails.max_p99_latency_ms,
      format: formatLatency,
    },
  ];
  const isGuarded = guardrails.abort_on_slo || rails.some(({ limit }) => limit !== null);
  return (
    <Card
      title="Generator and guardrails"
      aside={!isGuarded && <span className="dim">no limits set</span>}
    >
      <div className="card-body">
        <dl className="facts rails">
          {rails.map(({ name, value, limit, format }) => (
            <div key={name} className="rail">
              <dt>{name}</dt>
              <dd className={isBeyond(value, limit) ? "tone-bad" : ""}>
                {format(value)}
                {limit !== null && <span className="dim"> of {format(limit)}</span>}
              </dd>
            </div>
          ))}
          <div className="rail">
            <dt>Waiting</dt>
            <dd>{formatCount(resources.waiting)}</dd>
          </div>
          <div className="rail">
            <dt>Dropped</dt>
            <dd className={(resources.dropped ?? 0) > 0 ? "tone-bad" : ""}>
              {formatCount(resources.dropped)}
            </dd>
          </div>
        </dl>
        {isGuarded && (
          <p className="dim load-hint">
            Beyond a limit the load is taken back once; then the run fails.
            {guardrails.abort_on_slo && " A missed objective counts as well."}
          </p>
        )}
      </div>
    </Card>
  );
}

function isBeyond(value: number | null | undefined, limit: number | null): boolean {
  return limit !== null && value !== null && value !== undefined && value > limit;
}
