/** The run in a handful of numbers. Percentiles are exact where operations were recorded, else those of histograms. */
import type { FinalFigures, RunSummary } from "../../../api/load-results.ts";
import { Figure } from "../../../components/figure.tsx";
import {
  formatCount,
  formatDuration,
  formatLatency,
  formatRate,
  formatShare,
} from "../../../format.ts";

interface RunFiguresProps {
  readonly summary: RunSummary;
  readonly final: FinalFigures | undefined;
}

export function RunFigures({ summary, final }: RunFiguresProps) {
  const exact = final?.latency ?? undefined;
  const note = coverageNote(final);
  return (
    <dl className="card figures-strip" aria-label="Figures">
      <Figure name="Per second" note={`over ${formatDuration(summary.measured_seconds * 1_000)}`}>
        {formatRate(summary.qps)}
      </Figure>
      <Figure name="p50" note={note}>
        {formatLatency(exact?.p50_ms ?? summary.p50_latency_ms)}
      </Figure>
      <Figure name="p95" note={note}>
        {formatLatency(exact?.p95_ms ?? summary.p95_latency_ms)}
      </Figure>
      <Figure name="p99" note={note}>
        {formatLatency(exact?.p99_ms ?? summary.p99_latency_ms)}
      </Figure>
      <Figure name="p99.9" note={note}>
        {formatLatency(exact?.p999_ms ?? summary.p999_latency_ms)}
      </Figure>
      <Figure
        name="Longest"
        note={`on average ${formatLatency(exact?.avg_ms ?? summary.avg_latency_ms)}`}
      >
        {formatLatency(summary.max_latency_ms)}
      </Figure>
      <Figure name="Operations" note="without warm-up">
        {formatCount(summary.total_operations)}
      </Figure>
      <Figure name="Errors" note={`${formatShare(summary.error_rate_pct)} of all`}>
        <span className={summary.failed_operations > 0 ? "tone-bad" : undefined}>
          {formatCount(summary.failed_operations)}
        </span>
      </Figure>
    </dl>
  );
}

function coverageNote(final: FinalFigures | undefined): string {
  if (final?.latency === undefined || final.latency === null) return "of histograms, ± 0.4 %";
  const { coverage } = final;
  if (coverage === null || coverage >= 0.99995) return "exact, of all records";
  return `exact, of ${formatShare(coverage * 100)} recorded`;
}
