/** The current figures. */
import type { RunUpdate } from "../../../api/gen/types.ts";
import { Figure } from "../../../components/figure.tsx";
import { formatCount, formatRate, formatShare } from "../../../format.ts";
import { latencyText } from "../run/run-figures.tsx";

interface LiveFiguresProps {
  readonly update: RunUpdate;
}

export function LiveFigures({ update }: LiveFiguresProps) {
  const { aggregate_metrics: all, figures_phase: phase } = update.run;
  const since = phase === "WARMUP" ? "in warm-up so far" : "so far";
  return (
    <dl className="card figures-strip live-figures">
      <Figure
        name="Operations/s"
        note={all.target_qps === null ? "now" : `now, target ${formatRate(all.target_qps)}`}
      >
        <span data-figure="qps">{formatRate(all.qps)}</span>
      </Figure>
      <Figure name="p50" note={since}>
        {latencyText(all, "p50_latency_ms")}
      </Figure>
      <Figure name="p95" note={since}>
        {latencyText(all, "p95_latency_ms")}
      </Figure>
      <Figure name="p99" note={since}>
        {latencyText(all, "p99_latency_ms")}
      </Figure>
      <Figure name="Errors" note={errorsNote(all.errors_by_kind, all.error_rate)}>
        <span className={all.total_errors > 0 ? "tone-bad" : ""}>
          {formatCount(all.total_errors)}
        </span>
      </Figure>
      {(all.unserved ?? 0) > 0 && (
        <Figure name="Unserved" note="waiting for 1 s or more">
          <span className="tone-bad">{formatCount(all.unserved)}</span>
        </Figure>
      )}
      <Figure name="Connections" note={`target ${formatCount(all.target_connections)}`}>
        {formatCount(all.active_connections)}
      </Figure>
      <Figure
        name="Operations"
        note={`${formatCount(all.read_count)} reads, ${formatCount(all.write_count)} writes`}
      >
        {formatCount(all.total_ops)}
      </Figure>
    </dl>
  );
}

function errorsNote(byKind: Readonly<Record<string, number>>, rate: number): string {
  const kinds = Object.entries(byKind)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${formatCount(count)} ${kind}`);
  return [formatShare(rate * 100), ...kinds].join(", ");
}
