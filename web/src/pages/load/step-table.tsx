/** The columns of a search's steps, during and after the run. */
import type { Column } from "../../components/data-table.tsx";
import { formatCount, formatLatency, formatRate, formatShare } from "../../format.ts";

interface Step {
  readonly step_number: number;
  readonly p95_latency_ms: number | null;
  readonly outcome: string | null;
}

/** The fields for which the two kinds of steps have different names. */
interface StepFigures {
  readonly connections: number;
  readonly qps: number | null;
  readonly errorPct: number | null;
  readonly reason: string | null;
  /** The highest rate, which fills the bar. */
  readonly top: number;
}

export function stepColumns<Row extends Step>(
  figuresOf: (step: Row) => StepFigures,
): readonly Column<Row>[] {
  return [
    { title: "Step", className: "num", cell: (step) => step.step_number },
    {
      title: "Connections",
      className: "num",
      cell: (step) => formatCount(figuresOf(step).connections),
    },
    { title: "Ops/s", cell: (step) => <RateBar {...figuresOf(step)} /> },
    { title: "p95", className: "num", cell: (step) => formatLatency(step.p95_latency_ms) },
    {
      title: "Errors",
      className: "num from-sm",
      cell: (step) => formatShare(figuresOf(step).errorPct),
    },
    {
      title: "Outcome",
      cell: (step) => {
        const { reason } = figuresOf(step);
        return (
          <>
            {step.outcome?.toLowerCase().replaceAll("_", " ") ?? "unclear"}
            {reason && <div className="dim row-small">{reason}</div>}
          </>
        );
      },
    },
  ];
}

function RateBar({ qps, top }: Pick<StepFigures, "qps" | "top">) {
  return (
    <span className="meter">
      <span className="meter-track" aria-hidden="true">
        <span className="meter-fill" style={{ width: `${((qps ?? 0) / top) * 100}%` }} />
      </span>
      {formatRate(qps)}
    </span>
  );
}
