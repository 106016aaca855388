/** The main figures of the run, from its final record. */

import type { LatencyName, RunSummary } from "../../../api/gen/types.ts";
import type { Latency } from "../../../api/load.ts";
import { Figure } from "../../../components/figure.tsx";
import {
  formatCount,
  formatDuration,
  formatLatency,
  formatRate,
  formatShare,
} from "../../../format.ts";

export function RunFigures({ summary }: { readonly summary: RunSummary }) {
  const note =
    summary.percentiles_from === "records" ? "exact, from all records" : "from histograms, ± 0.4 %";
  const { unserved, availability_pct: available, longest_silence_ms: silence } = summary;
  return (
    <dl className="card figures-strip" aria-label="Figures">
      <Figure
        name="Operations/s"
        note={`successes, over ${formatDuration(summary.measured_seconds * 1_000)}`}
      >
        {formatRate(summary.qps)}
      </Figure>
      <Figure name="p50" note={note}>
        {latencyText(summary, "p50_latency_ms")}
      </Figure>
      <Figure name="p95" note={note}>
        {latencyText(summary, "p95_latency_ms")}
      </Figure>
      <Figure
        name="p99"
        note={`p99.9 ${latencyText(summary, "p999_latency_ms")}, longest ${latencyText(summary, "max_latency_ms")}`}
      >
        {latencyText(summary, "p99_latency_ms")}
      </Figure>
      <Figure name="Operations" note="warm-up not counted">
        {formatCount(summary.total_operations)}
      </Figure>
      <Figure name="Errors" note={`${formatShare(summary.error_rate_pct)} of all`}>
        <span className={summary.failed_operations > 0 ? "tone-bad" : undefined}>
          {formatCount(summary.failed_operations)}
        </span>
      </Figure>
      <Figure name="Unserved" note={unservedNote(summary)}>
        <span className={(unserved ?? 0) > 0 ? "tone-bad" : undefined}>
          {formatCount(unserved)}
        </span>
      </Figure>
      {(summary.resent_requests ?? 0) > 0 && (
        <Figure name="Resent" note="because the target closed the connection">
          {formatCount(summary.resent_requests)}
        </Figure>
      )}
      {(summary.generator_frozen_ms ?? 0) > 0 && (
        <Figure
          name="Generator frozen"
          note={`${formatCount(summary.skipped_arrivals)} arrivals were not sent`}
        >
          {formatLatency(Math.round(summary.generator_frozen_ms ?? 0))}
        </Figure>
      )}
      <Figure
        name="Availability"
        note={
          silence === null ? "not known" : `longest silence ${formatLatency(Math.round(silence))}`
        }
      >
        {availabilityText(available)}
      </Figure>
    </dl>
  );
}

/** `≥ 4.01 s` for a lower bound. */
export function latencyText<Name extends LatencyName>(
  latency: Pick<Latency, "at_least" | Name>,
  name: Name,
): string {
  const sign = latency.at_least.includes(name) ? "≥ " : "";
  return `${sign}${formatLatency(latency[name])}`;
}

function unservedNote({ unserved, unserved_pct: percent }: RunSummary): string {
  if (unserved === null) return "not known";
  return `${formatShare(percent)} of what was due`;
}

/** Never shows 100 for less than that. */
function availabilityText(percent: number | null): string {
  return formatShare(percent === null ? null : Math.floor(percent * 10) / 10);
}
